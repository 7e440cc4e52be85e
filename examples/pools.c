/*
 * A pool of events: one block of memory from malloc, cut into places of 128 bytes that are handed
 * out again and again. 30 events come, 20 go.
 *
 *     cc -I include examples/pools.c -o pools
 *     tidemark run -o pools.tide ./pools
 *     tidemark report pools.tide --metric pool --by stack
 */
#include <stdlib.h>

#include "tidemark.h"

#define PLACES 100

struct event {
    struct event *next;
    char data[120];
};

static struct event *store, *free_list;

static struct event *event_new(void)
{
    struct event *e = free_list;
    if (e) {
        free_list = e->next;
        tide_alloc("events", e, sizeof *e); /* after it was handed out, */
    }
    return e;
}

static void event_delete(struct event *e)
{
    tide_free("events", e); /* and before it can be again */
    e->next = free_list;
    free_list = e;
}

int main(void)
{
    struct event *events[30];
    store = malloc(PLACES * sizeof *store);
    for (int i = 0; store && i < PLACES; i++) {
        store[i].next = free_list;
        free_list = &store[i];
    }
    for (int i = 0; i < 30; i++)
        events[i] = event_new();
    tide_mark("all");
    for (int i = 0; i < 20 && events[i]; i++)
        event_delete(events[i]);
    return 0;
}
