#include "base/map.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static size_t map_home(const struct map *m, uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key >> 20) & (m->size - 1);
}

static struct map_slot *map_find(const struct map *m, uint64_t key)
{
    size_t i = map_home(m, key);
    while (m->slots[i].value != MAP_NONE && m->slots[i].key != key)
        i = (i + 1) & (m->size - 1);
    return &m->slots[i];
}

uint32_t map_get(const struct map *m, uint64_t key)
{
    return m->size ? map_find(m, key)->value : MAP_NONE;
}

static void map_resize(struct map *m, size_t size)
{
    struct map old = *m;
    m->size = size;
    m->slots = xtable(m->size * sizeof *m->slots);
    for (size_t i = 0; i < m->size; i++)
        m->slots[i].value = MAP_NONE;
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].value != MAP_NONE)
            *map_find(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

void map_reserve(struct map *m, size_t count)
{
    size_t size = m->size ? m->size : 64;
    while ((count + 1) * 4 > size * 3)
        size *= 2;
    if (size > m->size)
        map_resize(m, size);
}

uint32_t *map_at(struct map *m, uint64_t key)
{
    if ((m->count + 1) * 4 > m->size * 3)
        map_resize(m, m->size ? m->size * 2 : 64);
    struct map_slot *slot = map_find(m, key);
    if (slot->value == MAP_NONE) {
        slot->key = key;
        m->count++;
    }
    return &slot->value;
}

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

uint32_t strpool_add_n(struct strpool *p, const char *text, size_t size)
{
    size = strnlen(text, size); /* a string ends at its first NUL */
    if (!p->strings.count && size)
        strpool_add_n(p, "", 0);
    uint32_t *head = map_at(&p->index, XXH3_64bits(text, size));
    for (uint32_t n = *head; n != MAP_NONE; n = p->next.items[n]) {
        const char *known = p->strings.items[n];
        if (strncmp(known, text, size) == 0 && known[size] == '\0')
            return n;
    }
    uint32_t number = (uint32_t)p->strings.count;
    *vec_push(&p->strings) = xstrndup(text, size);
    *vec_push(&p->next) = *head;
    *head = number;
    return number;
}

uint32_t strpool_add(struct strpool *p, const char *text)
{
    return strpool_add_n(p, text, strlen(text));
}

const char *strpool_get(const struct strpool *p, uint32_t number)
{
    return number < p->strings.count ? p->strings.items[number] : "";
}

void strpool_release(struct strpool *p)
{
    for (size_t i = 0; i < p->strings.count; i++)
        free(p->strings.items[i]);
    vec_release(&p->strings);
    vec_release(&p->next);
    map_release(&p->index);
}
