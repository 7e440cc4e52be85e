/*
 * keeps_growing: holds 10 KiB more every millisecond and allocates 35 KiB for a moment, until its
 * stdin ends; then it ends.
 */
#include <poll.h>
#include <string.h>

#include "known.h"

SITE static void held(void)
{
    known_sink = memset(malloc(10240), 1, 10240);
    free(malloc(15000)); /* where most of its bytes are allocated, though none are held */
}

SITE static void for_a_moment(void)
{
    for (int i = 0; i < 20; i++)
        free(known_sink = malloc(1024));
}

int main(void)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    while (poll(&in, 1, 1) == 0) {
        held();
        for_a_moment();
    }
    return 0;
}
