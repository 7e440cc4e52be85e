/* A library whose one function does TIMES parts of the same work. */
#include <stdint.h>

uint64_t spin(uint64_t state);

uint64_t spin(uint64_t state)
{
    for (int k = 0; k < TIMES; k++)
        for (int i = 0; i < 200; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
    return state;
}
