/* Closes every descriptor, as daemons do, then reuses the numbers; the recording goes on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "known.h"

SITE static void before_close(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(48);
}

SITE static void after_close(void)
{
    for (int i = 0; i < 100000; i++)
        known_sink = malloc(24);
}

SITE static void *in_new_thread(void *unused)
{
    known_sink = malloc(96);
    return unused;
}

int main(void)
{
    before_close();
    close_range(3, ~0U, 0);
    for (int i = 0; i < 200; i++) {
        if (open("/dev/null", O_RDWR) < 0)
            return 1;
    }
    after_close();
    known_run(2, in_new_thread);
    return 0;
}
