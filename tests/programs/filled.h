/* For programs whose growth is told: blocks that are touched, and sizes that a seed decides. */
#ifndef FILLED_H
#define FILLED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FILLED(size)                                                                               \
    ({                                                                                             \
        size_t size_ = (size);                                                                     \
        memset(malloc(size_), 1, size_);                                                           \
    })

static uint64_t seed;

static unsigned below(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((seed >> 33) % n);
}

/* What leaves nothing behind. */
static inline void work(void)
{
    char *blocks[16];
    for (int i = 0; i < 16; i++)
        blocks[i] = FILLED(1 + below(4096));
    for (int i = 0; i < 16; i++)
        free(blocks[i]);
}

/* The beginning of a block that is in a list. */
struct link {
    struct link *next;
};

static inline void free_list(struct link **list)
{
    while (*list) {
        struct link *next = (*list)->next;
        free(*list);
        *list = next;
    }
}

#endif
