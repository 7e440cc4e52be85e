/*
 * pairs [READY GO]: 400,000 blocks of 40 bytes, each freed at once; then 1,000 that stay. Given
 * two names, it first makes the one file and waits for the other.
 */
#include <fcntl.h>
#include <unistd.h>

#include "known.h"

SITE static void come_and_go(void)
{
    for (int i = 0; i < 400000; i++) {
        void *p = malloc(40);

        known_sink = p;
        free(p);
    }
}

SITE static void stay(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(64);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        close(open(argv[1], O_CREAT | O_WRONLY, 0600));
        while (access(argv[2], F_OK) != 0)
            usleep(1000);
    }
    come_and_go();
    stay();
    return 7;
}
