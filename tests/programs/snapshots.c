/*
 * snapshots PATTERN GO: allocates 100 blocks of 10 bytes, asks for a snapshot, 100 more, another
 * snapshot; then says "ready" and, until the file GO exists, waits. Then 100 more.
 */
#include <stdio.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

SITE static void hundred(void)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(10);
}

int main(int argc, char **argv)
{
    (void)argc;
    for (int i = 0; i < 2; i++) {
        hundred();
        if (tide_snapshot(argv[1]) != 0)
            return 3;
    }
    if (write(1, "ready\n", 6) != 6)
        return 4;
    while (access(argv[2], F_OK) != 0)
        usleep(1000);
    hundred();
    return 0;
}
