/*
 * heap_maps [interleave]: a block of 16 MiB, two threads with arenas of their own, one of them with
 * a stack of 3 MiB that has no guard, a few small blocks; then a child that is forked, and ends.
 * Both have all of it at their end.
 *
 * With "interleave" it maps 8 MiB with that NUMA policy first, and says "no" where it cannot.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

enum { MIB = 1 << 20, THREADS = 2, INTERLEAVE = 3 };

static pthread_barrier_t ready;

static void *allocate(void *done)
{
    for (int i = 0; i < 1000; i++)
        memset(known_sink = malloc(1000), 1, 1000);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(done);
    return NULL;
}

static void map_interleaved(void)
{
    unsigned long nodes = 1;
    char *memory = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, 8 * MIB, MADV_NOHUGEPAGE);
    if (syscall(SYS_mbind, memory, 8L * MIB, (long)INTERLEAVE, &nodes, 8L * sizeof nodes, 0L) !=
            0 &&
        write(1, "no\n", 3) != 3)
        _exit(1);
    memset(memory, 1, 8 * MIB);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    static pthread_barrier_t done; /* outlives main: the threads wait for it to the end */
    (void)argv;
    if (argc > 1)
        map_interleaved();
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    memset(known_sink = malloc(16 * MIB), 1, 16 * MIB);
    known_sink = malloc(100);
    pthread_attr_init(&attributes);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], &attributes, allocate, &done))
            return 1;
        pthread_attr_setstacksize(&attributes, 3 * MIB);
        pthread_attr_setguardsize(&attributes, 0);
    }
    pthread_barrier_wait(&ready);
    pid_t child = fork();
    if (child == 0) {
        known_sink = malloc(10);
        exit(0);
    }
    waitpid(child, NULL, 0);
    return 0; /* the threads are still there */
}
