/*
 * Threads that wait in known functions, and say for how long:  waits THREADS [GO]
 *
 * Each sleeps 60 ms in doze() and 180 ms in sleep_well(), waits for a byte in read_pipe(), for a
 * mutex in take_lock(), and works in burn(). With GO, read_pipe() waits until the file GO is there.
 * Prints a line for each of the functions and its sum over all threads, and how long the threads
 * lived, in microseconds; all as seen from inside, so that it was at least that long.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))

enum { DOZE, SLEEP, PIPE, LOCK, LIFE, SUMS };

static atomic_long sums[SUMS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void nap(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
}

NOINLINE static int doze(void)
{
    nap(60);
    return 1;
}

NOINLINE static int sleep_well(void)
{
    nap(180);
    return 1;
}

NOINLINE static int read_pipe(void)
{
    char byte;
    return read(ends[0], &byte, 1) == 1;
}

NOINLINE static int take_lock(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return 1;
}

NOINLINE static int burn(void)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 3000000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state != 0;
}

static atomic_int at_pipe;

static void timed(int what, int (*wait)(void))
{
    long before = now_us();
    if (!wait())
        abort();
    atomic_fetch_add(&sums[what], now_us() - before);
}

static void *live(void *unused)
{
    long born = now_us();
    timed(DOZE, doze);
    timed(SLEEP, sleep_well);
    burn();
    atomic_fetch_add(&at_pipe, 1);
    timed(PIPE, read_pipe);
    timed(LOCK, take_lock);
    atomic_fetch_add(&sums[LIFE], now_us() - born);
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    long born = now_us();
    pthread_t others[64];
    if (pipe(ends) != 0)
        return 1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < threads; i++)
        pthread_create(&others[i], NULL, live, NULL);
    nap(400);
    if (argc > 2) {
        while (atomic_load(&at_pipe) < threads)
            nap(1);
        puts("ready");
        fflush(stdout);
        while (access(argv[2], F_OK) != 0)
            nap(1);
    }
    for (int i = 0; i < threads; i++)
        if (write(ends[1], "x", 1) != 1)
            return 1;
    nap(100);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < threads; i++)
        pthread_join(others[i], NULL);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf(
        "doze %ld\nsleep_well %ld\nread_pipe %ld\ntake_lock %ld\nlife %ld\nmain %ld\nsystem %ld\n",
        sums[DOZE], sums[SLEEP], sums[PIPE], sums[LOCK], sums[LIFE], now_us() - born,
        u.ru_stime.tv_sec * 1000000 + u.ru_stime.tv_usec);
    return 0;
}
