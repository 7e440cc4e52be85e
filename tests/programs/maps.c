/*
 * maps PLUGIN FILE [GO]: maps things of known sizes and says what the kernel says of them.
 *
 * Phase 1, snapshot 1: as it started. Phase 2, snapshot 2: 64 MiB anonymous of which half is
 * touched, FILE (3 MiB) mapped and read, 5 MiB of shared memory touched, 8 threads with stacks of
 * 1 MiB of which one page each is known to be touched, PLUGIN loaded. After each snapshot it prints
 * VmRSS of /proc/self/smaps_rollup in KiB. Phase 3: the anonymous memory is gone, but for 1 MiB;
 * it ends. With GO there are no snapshots, and it kills itself in phase 2, when that file is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tidemark.h"

enum { MIB = 1 << 20, THREADS = 8 };

static pthread_barrier_t ready, done;

static void *wait_there(void *unused)
{
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
    return unused;
}

/* Without stdio, which would allocate. */
static long rss_kib(void)
{
    char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *rss = strstr(text, "Rss:");
    return rss ? atol(rss + 4) : -1;
}

static int snapshot(const char *pattern)
{
    rss_kib(); /* its pages are there the second time */
    long before = rss_kib();
    int code = tide_snapshot(pattern);
    printf("%ld %ld\n", before, rss_kib());
    fflush(stdout);
    return code;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    static char out[BUFSIZ];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    if (argc < 3)
        return 2;
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    if (argc == 3)
        snapshot("one.%I.tide");

    char *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, 64 * MIB, MADV_NOHUGEPAGE); /* else twice as much may be there */
    memset(memory, 1, 32 * MIB);
    int fd = open(argv[2], O_RDONLY);
    char *file = mmap(NULL, 3 * MIB, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    long sum = 0;
    for (size_t i = 0; i < 3 * MIB; i += 4096)
        sum += file[i];
    int shared_fd = memfd_create("known", 0);
    if (ftruncate(shared_fd, 5 * MIB))
        return 3;
    char *shared = mmap(NULL, 5 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, shared_fd, 0);
    memset(shared, 2, 5 * MIB);
    char *unnamed = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(unnamed, 3, MIB);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, MIB);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &attributes, wait_there, NULL))
            return 4;
    pthread_barrier_wait(&ready);
    void *plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin || sum < 0)
        return 5;
    if (argc == 3)
        snapshot("two.%I.tide");

    if (argc > 3) {
        while (access(argv[3], F_OK) != 0)
            usleep(1000);
        raise(SIGKILL);
    }
    pthread_barrier_wait(&done);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    munmap(memory + MIB, 63 * MIB);
    return 0;
}
