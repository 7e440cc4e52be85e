/*
 * heap_before: counts what was allocated before the attach. It walks through glibc's heaps from
 * outside while all threads are stopped, and writes nothing.
 *
 * glibc promises nothing about the structures that are read here, so every one of them is checked.
 * The bins of the main arena are found by their form: an empty bin points to itself. The list of
 * arenas must lead back to the main one, and the chunks of each heap must follow each other to its
 * end. If any check fails, the figures are unknown.
 *
 * Blocks that a thread has freed and keeps in its tcache count as used, as in malloc_info.
 */
#ifndef TIDE_COLLECT_ATTACH_HEAP_BEFORE_H
#define TIDE_COLLECT_ATTACH_HEAP_BEFORE_H

#include <stdbool.h>
#include <stdint.h>

struct remote_modules;

enum heap_state {
    HEAP_NOT_COUNTED, /* the caller did not ask */
    HEAP_COUNTED,
    HEAP_OTHER,        /* the program uses another allocator */
    HEAP_INCONSISTENT, /* perhaps a thread was changing it; try again later */
    HEAP_TOO_LARGE     /* counting would have taken too long */
};

struct heap_before {
    enum heap_state state;
    uint64_t blocks, bytes; /* blocks and bytes in use, as malloc_info counts them */
};

/* Receives the blocks that heap_before_count finds. They are valid only if the result is
 * HEAP_COUNTED. */
struct heap_visitor {
    void *context;
    /* A block in use, and the size of its chunk. Blocks with a mapping of their own are not
     * passed. */
    void (*used)(void *context, uint64_t block, uint64_t bytes);
    /* A block that was passed to `used` turned out to be free. */
    void (*unused)(void *context, uint64_t block);
};

/* Counts the blocks in use, and passes each to `visitor`, which may be NULL. */
void heap_before_count(struct remote_modules *m, const struct heap_visitor *visitor,
                       struct heap_before *out);
/* Are the links between free blocks mangled? They are since glibc 2.32. */
bool heap_before_is_mangled(struct remote_modules *m);

#endif
