/* Stays long enough to be looked at from outside, then ends with 17. */
#include <unistd.h>

int main(void)
{
    usleep(500000);
    return 17;
}
