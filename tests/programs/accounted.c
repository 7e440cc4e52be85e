/*
 * accounted KIND FOLDER: memory whose every page is known. It says what malloc_trim(0) gave back,
 * in bytes, after a snapshot in FOLDER was taken; what that depends on is KIND's. Kind "known":
 * nothing is given back.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

enum { COUNT = 8192, THREADS = 4 };

#define FILLED(size) memset(malloc(size), 1, size)

/* 100 blocks of 256 KiB, mapped one by one, 10 pages of each touched, less the header. */
SITE static void large(void)
{
    static char *kept[100];
    for (int i = 0; i < 100; i++)
        memset(kept[i] = malloc(256 << 10), 1, 10 * 4096 - 16);
}

/* 1,000 blocks of 1,000 bytes, 8 more each; every second one is freed. */
SITE static void small(void)
{
    static char *kept[1000];
    for (int i = 0; i < 1000; i++)
        kept[i] = FILLED(1000);
    for (int i = 0; i < 1000; i += 2)
        free(kept[i]);
}

/* 3 MiB, of which one is touched. */
SITE static void mapped(void)
{
    char *p = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 3 << 20, MADV_NOHUGEPAGE);
    memset(p, 1, 1 << 20);
}

/* All freed but the last. */
SITE static void burst(void)
{
    static char *kept[COUNT];
    for (int i = 0; i < COUNT; i++)
        kept[i] = FILLED(1000);
    for (int i = 0; i + 1 < COUNT; i++)
        free(kept[i]);
}

/* All freed but each sixteenth: between two there are two or three whole pages. */
SITE static void scattered(void)
{
    static char *kept[COUNT];
    for (int i = 0; i < COUNT; i++)
        kept[i] = FILLED(1000);
    for (int i = 0; i < COUNT; i++)
        if (i % 16)
            free(kept[i]);
}

static void *freed_by_thread(void *last)
{
    char *volatile blocks[COUNT / 4];
    for (int i = 0; i < COUNT / 4; i++)
        blocks[i] = FILLED(1000);
    if (last)
        *(char **)last = FILLED(1000);
    for (int i = 0; i < COUNT / 4; i++)
        free(blocks[i]);
    return NULL;
}

/* In arenas of their own, one after the other: they may be the same. Without a last block all of it
 * is at the end of the arena, which malloc_trim leaves alone. */
static void threads(char **last)
{
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, freed_by_thread, last ? &last[i] : NULL))
            abort();
        pthread_join(thread, NULL);
    }
}

/* Code that runs for the first time becomes resident, too: only what is not a file's. */
static long resident(void)
{
    char text[4096] = {0}, *line;
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || !(line = strstr(text, "\nAnonymous:")))
        abort();
    close(fd);
    return atol(line + 11) * 1024;
}

int main(int argc, char **argv)
{
    static char *last[THREADS];
    const char *kind = argc > 1 ? argv[1] : "known";
    char text[64], path[4096];
    if (strcmp(kind, "known") == 0) {
        large();
        small();
        mapped();
        return 0;
    }
    if (strcmp(kind, "burst") == 0)
        burst();
    else if (strcmp(kind, "scattered") == 0)
        scattered();
    else
        threads(strcmp(kind, "threads") == 0 ? last : NULL);
    snprintf(path, sizeof path, "%s/%s.snapshot", argv[2], kind);
    if (tide_snapshot(path) != 0)
        return 3;
    long before = resident();
    malloc_trim(0);
    long given = before - resident();
    int size = snprintf(text, sizeof text, "%ld\n", given);
    return write(1, text, (size_t)size) == size ? 0 : 4;
}
