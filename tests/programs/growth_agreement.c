/* Growth of which other commands tell as well, by its argument. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

static void rest(long ms)
{
    const struct timespec gap = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&gap, NULL);
}

struct tree {
    struct tree *children[4];
    char bytes[500];
};

SITE static struct tree *add_child(void)
{
    return calloc(1, sizeof(struct tree));
}

SITE static struct tree *make_root(void)
{
    struct tree *t = calloc(1, sizeof *t);
    for (int i = 0; i < 4; i++) {
        t->children[i] = add_child();
        for (int k = 0; k < 4; k++)
            t->children[i]->children[k] = add_child();
    }
    return t;
}

/* A block above all that are freed keeps them. */
SITE static void burst(void)
{
    static void *volatile blocks[5000], *volatile above;
    for (int i = 0; i < 5000; i++)
        memset(blocks[i] = malloc(4000), 1, 4000);
    above = malloc(24);
    known_sink = above;
    for (int i = 0; i < 5000; i++) {
        free(blocks[i]);
        blocks[i] = NULL; /* others will lie there */
    }
}

SITE static void lose(size_t bytes)
{
    memset(known_sink = malloc(bytes), 1, bytes);
    known_sink = NULL;
}

static void *volatile kept[1000];

SITE static void keep_little(int i)
{
    kept[i] = malloc(32);
}

SITE static void map_more(void)
{
    memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1,
           1 << 20);
}

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "";
    int events = count > 2 ? atoi(words[2]) : 60;
    if (!strcmp(kind, "little"))
        memset(known_sink = malloc(50 << 20), 1, 50 << 20);
    if (!strcmp(kind, "fork")) {
        if (!fork()) {
            kind = "lose";
        } else {
            memset(known_sink = malloc(50 << 20), 1, 50 << 20);
            wait(NULL);
        }
    }
    kept[999] = known_sink;
    for (int i = 0; i < events; i++) {
        if (!strcmp(kind, "tree"))
            known_sink = make_root();
        else if (!strcmp(kind, "burst") && i == 20)
            burst();
        else if (!strcmp(kind, "both")) {
            if (i == 10)
                burst();
            lose(4000);
        } else if (!strcmp(kind, "lose"))
            lose(20000);
        else if (!strcmp(kind, "little"))
            keep_little(i);
        else if (!strcmp(kind, "map"))
            map_more();
        else if (!strcmp(kind, "twice")) {
            lose(2000000);
            rest(300);
        }
        rest(3);
        if (count <= 3)
            tide_mark("event");
    }
    known_sink = NULL;
    return 0;
}
