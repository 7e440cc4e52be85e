/*
 * scenarios NAME [marks]: one trouble each, of which size and function are known. What each does is
 * said beside it; a hundred events take about a second, and `marks` makes a mark "event" after
 * each.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

#define EVENTS 100
#define MIB    ((size_t)1 << 20)

static void *volatile kept;

static void wait_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t))
        ;
}

/* What is left of pointers in dead frames and registers. */
SITE static int wipe(void)
{
    volatile char room[8192];
    memset((char *)room, 0, sizeof room);
    return room[5];
}

#define filled(size)                                                                               \
    ({                                                                                             \
        size_t size_ = (size);                                                                     \
        memset(malloc(size_), 1, size_);                                                           \
    })

/* --- lost, killed: 20,000 bytes an event ---------------------------------------------------------
 */

SITE static void lose_one(void)
{
    kept = filled(20000);
    kept = NULL;
}

/* --- tree: an event loses a root of 16 bytes, and 63 nodes of 200 hang on it ---------------------
 */

struct node {
    struct node *left, *right;
    char load[184];
};

struct tree {
    struct node *root;
    long size;
};

SITE static struct node *grow_branch(int depth)
{
    struct node *n = filled(sizeof *n);
    n->left = depth > 1 ? grow_branch(depth - 1) : NULL;
    n->right = depth > 1 ? grow_branch(depth - 1) : NULL;
    return n;
}

SITE static void plant_tree(void)
{
    struct tree *t = filled(sizeof *t);
    t->root = grow_branch(6);
    t->size = 63;
    kept = t;
    kept = NULL;
}

/* --- mapped, shared: 1 MiB an event -------------------------------------------------------------
 */

SITE static void map_more(void)
{
    memset(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, MIB);
}

SITE static void share_more(void)
{
    memset(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, MIB);
}

/* --- retained: 60,000 blocks of 1000 bytes at the first event, freed below one that stays --------
 */

SITE static void burst(void)
{
    enum { BLOCKS = 60000 };
    static char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = filled(1000);
    kept = filled(1000);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

/* --- cache: 40,000 bytes an event, all reachable ------------------------------------------------
 */

struct entry {
    struct entry *next;
    char data[40000 - sizeof(struct entry *)];
};
static struct entry *entries;

SITE static void remember(void)
{
    struct entry *e = filled(sizeof *e);
    e->next = entries;
    entries = e;
}

/* --- reserve: 64 MiB at the first event, of which 1 MiB is used ----------------------------------
 */

SITE static void reserve(void)
{
    kept = malloc(64 * MIB);
    memset(kept, 1, MIB);
}

/* --- churn: 20,000 blocks an event, each freed at once -------------------------------------------
 */

SITE static void churn(void)
{
    for (int i = 0; i < 20000; i++) {
        known_sink = malloc(64);
        free(known_sink);
    }
}

/* --- early: 200 blocks of 1000 bytes lost at the first event, none later -------------------------
 */

SITE static void lose_early(void)
{
    for (int i = 0; i < 200; i++)
        kept = filled(1000);
    kept = NULL;
}

/* --- little: 16 blocks of 100 bytes lost, beside 81 MiB ------------------------------------------
 */

static void *volatile large;

SITE static void load_once(void)
{
    large = filled(81 * MIB);
}

SITE static void lose_little(int event)
{
    if (!event)
        load_once();
    if (event % 6 == 0)
        kept = filled(100);
    kept = NULL;
}

/* --- owner: a table of 100 blocks of 10,000 bytes is freed at exit, but not the blocks -----------
 */

static char **table;

static void free_table(void)
{
    free(table);
    table = NULL;
    wipe();
}

SITE static void own(int event)
{
    if (!table) {
        table = calloc(EVENTS, sizeof *table);
        atexit(free_table);
    }
    table[event] = filled(10000);
}

/* --- children [N]: each of four, or N, loses 50 blocks of 2000 bytes
 * ----------------------------------------- */

SITE static void child_loses(void)
{
    for (int i = 0; i < 50; i++)
        kept = filled(2000); /* a child's */
    kept = NULL;
}

SITE static void fork_children(int count)
{
    kept = filled(count > 4 ? MIB : 20 * MIB); /* it is looked through in each */
    for (int i = 0; i < count; i++) {          /* one after the other */
        pid_t child = fork();
        if (!child) {
            child_loses();
            exit(wipe());
        }
        waitpid(child, NULL, 0);
    }
    free(kept);
}

/* --- spikes: of two children the first has 30 MiB for a moment, the second 20
 * --------------------- */

SITE static void spike(size_t size)
{
    known_sink = malloc(size); /* in no time */
    free(known_sink);
}

static void fork_spikes(void)
{
    kept = filled(10 * MIB);
    for (size_t i = 0; i < 2; i++) {
        pid_t child = fork();
        if (!child) {
            spike((30 - 10 * i) * MIB);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    free(kept);
}

/* --- deep: 50 blocks of 20,000 bytes are lost where no stack can be followed to its end -----------
 */

SITE static void lose_deep(int depth)
{
    volatile char room = 0;
    if (depth)
        lose_deep(depth - 1);
    else
        for (int i = 0; i < 50; i++)
            lose_one();
    kept = room ? kept : NULL; /* no call in the last place */
}

static int event(const char *name, int n)
{
    if (strcmp(name, "lost") == 0 || strcmp(name, "killed") == 0)
        lose_one();
    else if (strcmp(name, "tree") == 0)
        plant_tree();
    else if (strcmp(name, "mapped") == 0)
        map_more();
    else if (strcmp(name, "shared") == 0)
        share_more();
    else if (strcmp(name, "cache") == 0)
        remember();
    else if (strcmp(name, "churn") == 0)
        churn();
    else if (strcmp(name, "little") == 0)
        lose_little(n);
    else if (strcmp(name, "owner") == 0)
        own(n);
    else if (strcmp(name, "retained") == 0)
        n ? (void)0 : burst();
    else if (strcmp(name, "reserve") == 0)
        n ? (void)0 : reserve();
    else if (strcmp(name, "early") == 0)
        n ? (void)0 : lose_early();
    else if (strcmp(name, "clean") != 0)
        return 2;
    free(filled(3000));
    return wipe();
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc > 1 && strcmp(argv[1], "children") == 0) {
        fork_children(argc > 2 ? atoi(argv[2]) : 4);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "spikes") == 0) {
        fork_spikes();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "deep") == 0) {
        lose_deep(60000);
        return wipe();
    }
    /* What is known of a program that is killed is from its stamps: it must have some. */
    int events = argc > 1 && strcmp(argv[1], "killed") == 0 ? 3 * EVENTS : EVENTS;
    for (int i = 0; i < events && argc > 1 && !status; i++) {
        status = event(argv[1], i);
        wait_ms(8);
        if (argc > 2)
            tide_mark("event");
    }
    if (argc > 1 && strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    return argc > 1 ? status : 2;
}
