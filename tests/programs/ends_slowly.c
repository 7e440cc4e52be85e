/* ends_slowly MS: keeps 1,000 blocks of 1,000 bytes, and takes so long to end, in a handler. */
#include <string.h>
#include <time.h>

#include "known.h"

static int wait_ms;

static void slowly(void)
{
    struct timespec left = {wait_ms / 1000, wait_ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0)
        ;
}

int main(int argc, char **argv)
{
    static void *kept[1000];
    wait_ms = known_argument(argc, argv, 1, 0);
    for (int i = 0; i < 1000; i++)
        kept[i] = memset(malloc(1000), 1, 1000);
    known_sink = kept;
    return atexit(slowly);
}
