#include "collect/counting/fork_image.h"

#include <string.h>

#include "collect/counting/target.h"

#define IMAGES_MAX       256
#define IMAGES_BYTES_MAX ((size_t)64 << 20)

static void image_release(struct fork_image *image)
{
    address_set_release(&image->maps);
    address_set_release(&image->loader);
}

static void image_remove(struct target *t, size_t number)
{
    t->inheritance.images.count--;
    memmove(&t->inheritance.images.items[number], &t->inheritance.images.items[number + 1],
            (t->inheritance.images.count - number) * sizeof *t->inheritance.images.items);
}

static void make_room(struct target *t)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->inheritance.images.count; i++)
        bytes += t->inheritance.images.items[i].bytes;
    while (t->inheritance.images.count > 1 &&
           (t->inheritance.images.count >= IMAGES_MAX || bytes > IMAGES_BYTES_MAX)) {
        bytes -= t->inheritance.images.items[0].bytes;
        image_release(&t->inheritance.images.items[0]);
        image_remove(t, 0);
    }
}

void fork_image_take(struct target *t, uint32_t number)
{
    const struct inherited *i = &t->profile.inherited;
    struct fork_image image = {.number = number, .live = t->ledger.live};
    make_room(t);
    t->has_forked = true;
    image.live.blocks += i->blocks - i->freed_blocks;
    image.live.bytes += i->bytes - i->freed_bytes;
    image.live = amount_above_zero(image.live);
    for (size_t k = 0; k < t->program_mmaps.items.count; k++)
        address_set_add(&image.maps, t->program_mmaps.items.items[k].start,
                        t->program_mmaps.items.items[k].end);
    address_set_copy(&image.maps, &t->inheritance.maps);
    address_set_copy(&image.loader, &t->scan.loader);
    image.bytes =
        (image.maps.items.count + image.loader.items.count) * sizeof *image.maps.items.items;
    *vec_push(&t->inheritance.images) = image;
}

void fork_image_hand_over(struct target *parent, uint32_t number, struct target *child)
{
    for (size_t i = parent->inheritance.images.count; i-- > 0;) {
        struct fork_image image = parent->inheritance.images.items[i];
        if (image.number != number)
            continue;
        image_remove(parent, i);
        child->profile.inherited = (struct inherited){
            .parent = parent->profile.pid, .blocks = image.live.blocks, .bytes = image.live.bytes};
        child->inheritance.maps = image.maps;
        child->scan.loader = image.loader;
        child->inheritance.unknown = false;
        return;
    }
}

size_t fork_image_keep(struct inheritance *i, size_t bytes)
{
    size_t kept = 0, first = i->images.count;
    while (first && kept + i->images.items[first - 1].bytes <= bytes)
        kept += i->images.items[--first].bytes;
    for (size_t k = 0; k < first; k++)
        image_release(&i->images.items[k]);
    i->images.count -= first;
    memmove(i->images.items, i->images.items + first, i->images.count * sizeof *i->images.items);
    if (!i->images.count)
        vec_release(&i->images);
    return kept;
}

void fork_images_release(struct inheritance *i)
{
    for (size_t k = 0; k < i->images.count; k++)
        image_release(&i->images.items[k]);
    vec_release(&i->images);
    address_set_release(&i->maps);
}
