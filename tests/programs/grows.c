/*
 * grows KIND EVENTS SEED: a job of EVENTS events that grows in the way that KIND says, or does not.
 * Each event does some work that leaves nothing behind, of sizes that SEED decides, and ends with a
 * mark "event" whose value "items" is what the event was about; in a fourth argument is how many
 * milliseconds it waits instead of making it, and in a fifth a file: events go on until it is
 * there.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filled.h"
#include "known.h"
#include "staying_threads.h"
#include "tidemark.h"

#define ITEM 96

SITE static void lost(size_t size)
{
    known_sink = FILLED(size);
    known_sink = NULL;
}

/* Blocks that come and go, so that live bytes are never the same twice. */
SITE static void noise(void)
{
    static char *held[64];
    for (int i = 0; i < 64; i++) {
        free(held[i]);
        held[i] = FILLED(1 + below(32768));
    }
}

static struct link *chain;

SITE static void linked(void)
{
    struct link *l = FILLED(10000);
    l->next = chain;
    chain = l;
}

/* Calls malloc for others. */
SITE static struct link *grab(size_t size)
{
    return FILLED(size);
}

SITE static void first(void)
{
    struct link *l = grab(10000);
    l->next = chain;
    chain = l;
}

SITE static void second(void)
{
    struct link *l = grab(8000);
    l->next = chain;
    chain = l;
}

/* Asked for any of 40 entries, which it makes when it is first asked. */
SITE static void cached(void)
{
    static char *cache[40];
    for (int i = 0; i < 10; i++) {
        unsigned key = below(40);
        if (!cache[key])
            cache[key] = FILLED(50000);
    }
}

/* An array that grows by doubling and is kept for the next event, which begins it anew. */
SITE static void collected(unsigned items)
{
    static char *array;
    static size_t capacity = 1024;
    if (!array)
        array = FILLED(capacity * ITEM);
    for (size_t size = 0; size < items; size++) {
        if (size == capacity) {
            char *bigger = malloc(2 * capacity * ITEM); /* doubled */
            memcpy(bigger, array, capacity * ITEM);
            free(array);
            array = bigger;
            capacity *= 2;
        }
        memset(array + size * ITEM, (int)size, ITEM);
    }
}

/* Blocks that shrink: each leaves a hole that the next event's, which are larger, do not fit into.
 */
SITE static void pinned(unsigned event)
{
    struct pin {
        struct pin *next;
    };
    static struct pin *pins;
    char *blocks[64];
    for (int i = 0; i < 64; i++)
        blocks[i] = FILLED(8192 + 64 * event);
    for (int i = 0; i < 64; i++) {
        struct pin *pin = realloc(blocks[i], sizeof *pin);
        pin->next = pins;
        pins = pin;
    }
}

/* Many small blocks, and one after them that keeps the allocator from giving them back. */
SITE static void burst(void)
{
    static char *last;
    enum { COUNT = 32768 };
    char **blocks = malloc(COUNT * sizeof *blocks);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = FILLED(1000);
    last = FILLED(1000);
    known_sink = last;
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    free(blocks);
}

SITE static void crowd(unsigned event)
{
    static char *kept[256];
    if (event == 256)
        abort();
    start_staying_thread(&kept[event]);
}

/* Blocks that are kept for the whole run, and freed at its end, by when nobody looks. */
static char *table[8192];

SITE static void tabled(unsigned event)
{
    static char *last;
    for (int i = 0; event == 0 && i < 8192; i++)
        table[i] = FILLED(1000);
    if (event == 0)
        last = FILLED(1000);
    known_sink = last;
}

SITE static void mapped(size_t size, int touch)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (touch)
        memset(p, 1, size);
}

static unsigned items_of(const char *kind, unsigned event)
{
    static const unsigned opticks[] = {10, 50, 60, 80, 10, 100, 30, 300, 20, 10};
    if (strncmp(kind, "steps", 5) != 0)
        return 1 + below(1000);
    return 1000 * (event < 10 ? opticks[event] : 10 + below(290));
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "stable";
    unsigned events = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
    seed = argc > 3 ? (uint64_t)atoi(argv[3]) * 7919 : 1;
    unsigned phase = below(8);
    /* The heap of one that stays as it is has its size before the first event. */
    for (int i = 0; i < 100 && strcmp(kind, "noise") == 0; i++)
        noise();
    for (unsigned event = 0; event < events || (argc > 5 && access(argv[5], F_OK) != 0); event++) {
        unsigned items = items_of(kind, event);
        work();
        if (strcmp(kind, "leak") == 0)
            lost(10000);
        else if (strcmp(kind, "slow") == 0)
            noise(), lost(512);
        else if (strcmp(kind, "noise") == 0)
            noise();
        else if (strcmp(kind, "reachable") == 0 || strcmp(kind, "cleared") == 0)
            linked();
        else if (strcmp(kind, "wrapped") == 0)
            first(), second();
        else if (strcmp(kind, "items") == 0)
            lost((size_t)items * ITEM);
        else if (strcmp(kind, "cache") == 0)
            cached();
        else if (strcmp(kind, "sawtooth") == 0)
            event % 8 == phase ? free_list(&chain) : linked();
        else if (strcmp(kind, "steps") == 0)
            collected(items);
        else if (strcmp(kind, "steps-leak") == 0)
            collected(items), lost(items * (size_t)ITEM / 100);
        else if (strcmp(kind, "history") == 0)
            collected(1000 * (event + 1)), lost(5000);
        else if (strcmp(kind, "pinned") == 0)
            pinned(event);
        else if (strcmp(kind, "burst") == 0 && event == 2)
            burst();
        else if (strcmp(kind, "arenas") == 0)
            crowd(event);
        else if (strcmp(kind, "table") == 0)
            tabled(event);
        else if (strcmp(kind, "space") == 0)
            mapped(1 << 20, 0);
        else if (strcmp(kind, "mapped") == 0)
            mapped(1 << 20, 1);
        if (argc > 4)
            usleep(1000 * (useconds_t)atoi(argv[4]));
        else
            tide_mark_value("event", "items", items);
    }
    for (int i = 0; i < 8192; i++)
        free(table[i]);
    if (strcmp(kind, "cleared") == 0)
        free_list(&chain);
    return 0;
}
