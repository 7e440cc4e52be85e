/*
 * heap_before: what was allocated before the attach, counted by going through glibc's heaps from
 * outside while all threads stand still.
 *
 * glibc promises nothing of what is read here, so everything is checked: the bins of the main arena
 * are found by their form (an empty one points to itself), the list of arenas must lead back to it,
 * and the chunks of each heap must follow each other to its end. If anything is not as expected, the
 * figures are not known. Nothing is written. Blocks that a thread has freed and keeps for itself
 * (tcache) count as used, as in malloc_info.
 */
#ifndef TIDE_COLLECT_ATTACH_HEAP_BEFORE_H
#define TIDE_COLLECT_ATTACH_HEAP_BEFORE_H

#include <stdbool.h>
#include <stdint.h>

struct remote_modules;

enum heap_state {
    HEAP_NOT_COUNTED, /* nobody asked */
    HEAP_COUNTED,
    HEAP_OTHER,        /* another allocator serves the program */
    HEAP_INCONSISTENT, /* a thread was at work on it, perhaps; another moment may do */
    HEAP_TOO_LARGE     /* it would have taken too long */
};

struct heap_before {
    enum heap_state state;
    uint64_t blocks, bytes; /* in use, as malloc_info counts them */
};

/* Is told what is found on the way. All of it counts only if the heap is HEAP_COUNTED in the end. */
struct heap_visitor {
    void *context;
    /* A block, and what its chunk takes of the heap. Those that are mapped alone are not told of. */
    void (*used)(void *context, uint64_t block, uint64_t bytes);
    /* One of these is free all the same. */
    void (*unused)(void *context, uint64_t block);
};

/* `visitor`: or NULL. */
void heap_before_count(struct remote_modules *m, const struct heap_visitor *visitor,
                       struct heap_before *out);
/* Are the links between free blocks mangled? Since 2.32. */
bool heap_before_is_mangled(struct remote_modules *m);

#endif
