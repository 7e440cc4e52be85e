/*
 * map: 64-bit keys to 32-bit values; and strpool: each distinct string once, named by a number.
 *
 * Open addressing, power-of-two sizes, at most three quarters full, no removal. {0} is empty.
 * The value MAP_NONE means "absent" and cannot be stored.
 *
 * Ownership: map_release and strpool_release free. Not thread-safe.
 */
#ifndef TIDE_BASE_MAP_H
#define TIDE_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define MAP_NONE UINT32_MAX

struct map {
    struct map_slot {
        uint64_t key;
        uint32_t value;
    } * slots;
    size_t count, size;
};

uint32_t map_get(const struct map *m, uint64_t key);
/* A pointer to the value of `key`, which is added with MAP_NONE if it is absent; valid until the
 * next call. */
uint32_t *map_at(struct map *m, uint64_t key);
/* Makes room for so many keys in total, so that the map need not grow step by step. */
void map_reserve(struct map *m, size_t count);
void map_release(struct map *m);

struct strpool {
    VEC(char *) strings; /* by number; number 0 is the empty string once anything was added */
    struct map index;    /* hash -> first number with that hash; collisions chain through `next` */
    VEC(uint32_t) next;
};

uint32_t strpool_add(struct strpool *p, const char *text);
uint32_t strpool_add_n(struct strpool *p, const char *text, size_t size);
const char *strpool_get(const struct strpool *p, uint32_t number);
void strpool_release(struct strpool *p);

#endif
