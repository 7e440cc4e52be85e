/*
 * scribbles [SEED]: writes random bytes all over the memory it shares with the collector
 * while two threads go on allocating, then ends with 7.
 *
 * A child forked before that allocates 500 blocks of 100 bytes of its own, while its parent
 * scribbles, and ends with 3; it must be counted as if nothing had happened.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"
#include "wire/layout.h"

enum { RANGES = 64, CHILD_BLOCKS = 500 };

static struct {
    uintptr_t start, end;
    uintptr_t rings; /* where they begin in it; 0: it has none, but accounts */
} ranges[RANGES];
static int range_count;
static atomic_bool over;

SITE static void in_child(int pipe_end)
{
    char go;
    for (int i = 0; i < CHILD_BLOCKS; i++) {
        if (i % 100 == 0 && read(pipe_end, &go, 1) != 1)
            _exit(9);
        known_sink = malloc(100);
    }
}

static void find_shared_memory(void)
{
    char line[4352];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && range_count < RANGES && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:tidemark") && strstr(line, " rw-s ") &&
            sscanf(line, "%lx-%lx", &ranges[range_count].start, &ranges[range_count].end) == 2) {
            const struct wire_header *h = (const void *)ranges[range_count].start;
            ranges[range_count++].rings = h->magic == WIRE_MAGIC ? h->rings_offset : 0;
        }
    if (maps)
        fclose(maps);
}

static uint64_t random_word(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *allocates(void *unused)
{
    (void)unused;
    while (!over) {
        void *block = malloc(64);
        known_sink = block;
        free(block);
    }
    return NULL;
}

/* Half of it into rings, where there are any, the rest into headers, nodes, accounts, anything. */
static void scribble(uint64_t *state)
{
    uint64_t r = random_word(state), more = random_word(state) >> 8;
    uintptr_t start = ranges[r % (unsigned)range_count].start;
    uintptr_t end = ranges[r % (unsigned)range_count].end, size = end - start;
    uintptr_t ring = ranges[r % (unsigned)range_count].rings + (r >> 8) % 4 * WIRE_RING_BYTES;
    const uintptr_t places[] = {ring + more % 192, ring + 4096 + more % 32768, more % 4096,
                                4096 + (1 << 20) + more % 65536, more % size};
    volatile uint64_t *at = (volatile uint64_t *)(start + places[(r >> 16) % 5] % size / 8 * 8);
    *at = r >> 60 & 1 ? random_word(state) : *at ^ (1ull << (r >> 50 & 63));
}

int main(int argc, char **argv)
{
    uint64_t state = (uint64_t)known_argument(argc, argv, 1, 1) * 0x9e3779b97f4a7c15u | 1;
    int go[2], status = 0;
    pthread_t threads[2];
    if (pipe(go))
        return 9;
    known_sink = malloc(1);
    pid_t child = fork();
    if (child == 0) {
        in_child(go[0]);
        _exit(3);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, allocates, NULL);
    usleep(2000);
    find_shared_memory();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; range_count && i < 4000; i++) {
            scribble(&state);
            if (i % 400 == 0)
                usleep(100);
        }
        if (write(go[1], "x", 1) != 1)
            return 9;
    }
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 3)
        return 8;
    return range_count ? 7 : 6; /* 6: it is not being recorded */
}
