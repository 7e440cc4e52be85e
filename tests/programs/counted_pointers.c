/* A list of BLOCKS blocks whose pointers have a counter in their upper 16 bits, as those of lock-free
 * containers have, and one lost block. */
#include <stdint.h>
#include <stdlib.h>

#define BLOCKS 100

static uint64_t head;

__attribute__((noinline)) static void push(uint64_t counter)
{
    uint64_t *node = malloc(48);
    node[0] = head;
    head = (uint64_t)(uintptr_t)node | counter << 48;
}

__attribute__((noinline)) static void lose(void)
{
    void *volatile block = malloc(56);
    block = NULL;
    (void)block;
}

int main(void)
{
    lose();
    for (uint64_t i = 1; i <= BLOCKS; i++)
        push(i * 653);
    return 0;
}
