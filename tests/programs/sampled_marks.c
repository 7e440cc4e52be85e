/*
 * sampled_marks EVENTS: at each event touches 10 pages, 20 at each third one, spins for 5 ms, and
 * sleeps for 2 ms, each in a function of its own and with a mark after it.
 */
#include <sys/mman.h>
#include <time.h>

#include "known.h"
#include "tidemark.h"

static volatile char *pages;

SITE static void touch(int count)
{
    for (int i = 0; i < count; i++, pages += 4096)
        *pages = 1;
}

static double now_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

SITE static void spin(void)
{
    for (double end = now_ms(CLOCK_THREAD_CPUTIME_ID) + 5; now_ms(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (volatile int i = 0; i < 2000; i++)
            ;
}

SITE static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

int main(int argc, char **argv)
{
    int events = known_argument(argc, argv, 1, 30);
    size_t size = (size_t)events * 20 * 4096;

    pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)pages, size, MADV_NOHUGEPAGE);
    for (int i = 1; i <= events; i++) {
        tide_mark("begin");
        touch(i % 3 ? 10 : 20);
        tide_mark("touched");
        spin();
        tide_mark("spun");
        rest();
    }
    tide_mark("begin");
    return 0;
}
