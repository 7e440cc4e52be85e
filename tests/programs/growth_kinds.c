/*
 * growth_kinds KIND EVENTS SEED SIZE NOISE: EVENTS events, each ended by a mark "event". What KIND names
 * happens by SIZE bytes an event, beside work that leaves nothing behind; with NOISE 1 other blocks
 * of random sizes come and go, so that no size of the process is ever the same twice. SEED decides
 * about sizes and, for "rare", which events. Prints the events at which memory was gained, counted
 * from 1, and the bytes of each.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clear_stack.h"
#include "filled.h"
#include "known.h"
#include "staying_threads.h"
#include "tidemark.h"

static size_t size;
static unsigned events, event; /* from 1 */

static void told(size_t bytes)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%u %zu\n", event, bytes);
    if (write(1, line, (size_t)n) != n)
        abort();
}

SITE static void lose(void)
{
    known_sink = FILLED(size); /* lost */
    known_sink = NULL;
    told(size);
}

/* A root that is lost, and three blocks that only it leads to. */
SITE static void lose_tree(void)
{
    char **root = malloc(3 * sizeof *root);
    for (int i = 0; i < 3; i++)
        root[i] = FILLED(size / 3);
    known_sink = root;
    known_sink = NULL;
    told(3 * sizeof *root + 3 * (size / 3));
}

static struct link *list;

SITE static void keep(size_t bytes)
{
    struct link *l = FILLED(bytes);
    l->next = list;
    list = l;
    told(bytes);
}

SITE static void cache(void)
{
    static char *entries[40];
    for (int i = 0; i < 8; i++) {
        unsigned key = below(40);
        if (!entries[key]) {
            entries[key] = FILLED(size);
            told(size);
        }
    }
}

SITE static void map_more(int flags, int fd)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        abort();
    if (fd < 0)
        memset(p, 1, size);
    else
        for (size_t i = 0; i < size; i += 4096)
            known_sink = (void *)(uintptr_t)p[i]; /* read in */
    told(size);
}

static int file_of_size(void)
{
    char name[] = "/tmp/ways.XXXXXX";
    int fd = mkstemp(name);
    char *block = FILLED(size);
    if (fd < 0 || write(fd, block, size) != (ssize_t)size)
        abort();
    unlink(name);
    free(block);
    return fd;
}

/* Memory is mapped at first, and handed out piece by piece. */
SITE static void from_pool(void)
{
    static char *pool;
    if (!pool) {
        pool =
            mmap(NULL, size * events, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pool == MAP_FAILED)
            abort();
    }
    char *block = pool + size * (event - 1);
    memset(block, 1, size);
    tide_alloc("hits", block, size);
    told(size);
}

SITE static void crowd(void)
{
    static char *kept[1024];
    staying_blocks = size / 1000 < STAYING_BLOCKS ? size / 1000 : STAYING_BLOCKS;
    start_staying_thread(&kept[event]);
    told(size);
}

/* Blocks that shrink leave holes that the next event's, which are larger, do not fit into. */
SITE static void pin(void)
{
    static struct link *pins;
    size_t each = 8192 + 64 * event, count = size / each + 1;
    char **blocks = malloc(count * sizeof *blocks);
    for (size_t i = 0; i < count; i++)
        blocks[i] = FILLED(each);
    for (size_t i = 0; i < count; i++) {
        struct link *p = realloc(blocks[i], sizeof *p);
        p->next = pins;
        pins = p;
    }
    free(blocks);
    told(size);
}

static void *in_thread(void *unused)
{
    (void)unused;
    lose();
    return NULL;
}

/* Less and less: a twelfth less at each event. */
static double fading(void)
{
    static double left = 1;
    return left *= 11.0 / 12;
}

static void noise(void)
{
    static char *held[64];
    for (int i = 0; i < 64; i++) {
        free(held[i]);
        held[i] = FILLED(1 + below(8192));
    }
}

static void act(const char *kind, int fd)
{
    pthread_t thread;
    if (!strcmp(kind, "leak") || !strcmp(kind, "child") ||
        (!strcmp(kind, "tenth") && event % 10 == 5) || (!strcmp(kind, "rare") && below(12) == 0) ||
        (!strcmp(kind, "late") && event >= 71) || (!strcmp(kind, "stopping") && event <= 60))
        lose();
    else if (!strcmp(kind, "indirect"))
        lose_tree();
    else if (!strcmp(kind, "list") || (!strcmp(kind, "late-list") && event >= 41))
        keep(size);
    else if (!strcmp(kind, "cache"))
        cache();
    else if (!strcmp(kind, "saturating") && event <= 45)
        keep((size_t)((double)size * fading()) + sizeof(struct link));
    else if (!strcmp(kind, "sawtooth"))
        event % 8 == 7 ? free_list(&list) : keep(size);
    else if (!strcmp(kind, "mmap") || (!strcmp(kind, "late-mmap") && event >= 51))
        map_more(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    else if (!strcmp(kind, "shared"))
        map_more(MAP_SHARED | MAP_ANONYMOUS, -1);
    else if (!strcmp(kind, "file"))
        map_more(MAP_SHARED, fd);
    else if (!strcmp(kind, "pool"))
        from_pool();
    else if (!strcmp(kind, "arena"))
        crowd();
    else if (!strcmp(kind, "fragmentation"))
        pin();
    else if (!strcmp(kind, "thread") &&
             (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL)))
        abort();
}

SITE static void run(const char *kind, bool noisy, int fd)
{
    for (event = 1; event <= events; event++) {
        work();
        if (noisy)
            noise();
        act(kind, fd);
        tide_mark("event");
    }
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    events = (unsigned)atoi(argv[2]);
    seed = (uint64_t)atoi(argv[3]) * 7919;
    size = (size_t)atol(argv[4]);
    int fd = strcmp(argv[1], "file") == 0 ? file_of_size() : -1;
    if (strcmp(argv[1], "child") == 0) {
        pid_t child = fork();
        if (child) {
            int status;
            return waitpid(child, &status, 0) == child ? status : 1;
        }
    }
    run(argv[1], atoi(argv[5]) != 0, fd);
    clear_stack(); /* else freed blocks that were there may keep the last block that was lost */
    return 0;
}
