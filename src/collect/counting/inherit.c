/*
 * inherit: what a forked child has of its parent's blocks.
 *
 * When a process is about to fork, its table of blocks is cloned, which costs little (blocks.h). A
 * child that later says hello gets the clone, so that it is known which of its frees are of blocks
 * that it inherited. Most children execute another program and never ask; their images make room
 * for later ones.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/counting/target.h"

#define IMAGES_MAX       256
#define IMAGES_BYTES_MAX ((size_t)64 << 20)
#define FORKS_DEEP       16 /* further out, what was inherited is not known any more */

static void image_release(struct fork_image *image)
{
    for (size_t i = 0; i < image->tables.count; i++)
        blocks_release(&image->tables.items[i]);
    vec_release(&image->tables);
    address_set_release(&image->maps);
    address_set_release(&image->loader);
}

static void image_remove(struct target *t, size_t number)
{
    t->images.count--;
    memmove(&t->images.items[number], &t->images.items[number + 1],
            (t->images.count - number) * sizeof *t->images.items);
}

static void make_room(struct target *t)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->images.count; i++)
        bytes += t->images.items[i].bytes;
    while (t->images.count > 1 && (t->images.count >= IMAGES_MAX || bytes > IMAGES_BYTES_MAX)) {
        bytes -= t->images.items[0].bytes;
        image_release(&t->images.items[0]);
        image_remove(t, 0);
    }
}

static void image_add(struct fork_image *image, const struct blocks *table)
{
    blocks_clone(vec_push(&image->tables), table);
    image->bytes += blocks_bytes(table);
}

void inherit_fork(struct target *t, uint32_t number)
{
    const struct inherited *i = &t->profile.inherited;
    struct fork_image image = {.number = number, .live = t->ledger.live};
    make_room(t);
    t->has_forked = true;
    image.live.blocks += i->blocks - i->freed_blocks;
    image.live.bytes += i->bytes - i->freed_bytes;
    image_add(&image, &t->blocks);
    for (size_t k = 0; k < t->inherited.count && k < FORKS_DEEP; k++)
        image_add(&image, &t->inherited.items[k]);
    for (size_t k = 0; k < t->ranges.items.count; k++)
        address_set_add(&image.maps, t->ranges.items.items[k].start, t->ranges.items.items[k].end);
    address_set_copy(&image.maps, &t->inherited_maps);
    address_set_copy(&image.loader, &t->loader);
    *vec_push(&t->images) = image;
}

void inherit_hand_over(struct target *parent, uint32_t number, struct target *child)
{
    for (size_t i = parent->images.count; i-- > 0;) {
        struct fork_image image = parent->images.items[i];
        if (image.number != number)
            continue;
        image_remove(parent, i);
        child->profile.inherited = (struct inherited){
            .parent = parent->profile.pid, .blocks = image.live.blocks, .bytes = image.live.bytes};
        for (size_t k = 0; k < image.tables.count; k++)
            *vec_push(&child->inherited) = image.tables.items[k];
        vec_release(&image.tables);
        child->inherited_maps = image.maps;
        child->loader = image.loader;
        child->heap_unknown = false;
        return;
    }
}

bool inherit_take(struct target *t, uint64_t address, struct block *out, struct blocks **table)
{
    for (size_t i = 0; i < t->inherited.count; i++)
        if (blocks_take(&t->inherited.items[i], address, out)) {
            *table = &t->inherited.items[i];
            t->profile.inherited.freed_blocks++;
            t->profile.inherited.freed_bytes += out->size;
            return true;
        }
    return false;
}

void inherit_put(struct target *t, struct blocks *table, const struct block *b)
{
    struct block none;
    blocks_put(table, b, &none);
    t->profile.inherited.freed_blocks--;
    t->profile.inherited.freed_bytes -= b->size;
}

size_t inherit_keep(struct target *t, size_t bytes)
{
    size_t kept = 0, first = t->images.count;
    while (first && kept + t->images.items[first - 1].bytes <= bytes)
        kept += t->images.items[--first].bytes;
    for (size_t i = 0; i < first; i++)
        image_release(&t->images.items[i]);
    t->images.count -= first;
    memmove(t->images.items, t->images.items + first, t->images.count * sizeof *t->images.items);
    if (!t->images.count)
        vec_release(&t->images);
    return kept;
}

void inherit_release(struct target *t)
{
    for (size_t i = 0; i < t->images.count; i++)
        image_release(&t->images.items[i]);
    for (size_t i = 0; i < t->inherited.count; i++)
        blocks_release(&t->inherited.items[i]);
    vec_release(&t->images);
    vec_release(&t->inherited);
    address_set_release(&t->inherited_maps);
    address_set_release(&t->loader);
}
