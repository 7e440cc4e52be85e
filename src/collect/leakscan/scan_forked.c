#include "collect/leakscan/scan_forked.h"

#include <string.h>

#include "machine/registers.h"

#define BUFFER 65536
/* How far inside a block an address may be for its block to be found. */
#define FARTHEST (UINT64_C(64) << 20)

/* The last inherited block that was found. */
struct found {
    struct block block;
    bool any;
};

static bool is_inherited(struct target *t, uint64_t address, uint64_t lowest, struct found *last)
{
    if (last->any && address - last->block.address < last->block.size)
        return true;
    lowest = address - lowest > FARTHEST ? address - FARTHEST : lowest;
    if (!block_index_inherited(t, address, lowest, &last->block))
        return false;
    return last->any = true;
}

static void take_words(struct target *t, struct reachability *f, const struct region *m,
                       struct address_range part, const char *bytes, struct found *last)
{
    for (uint64_t at = part.start; at + 8 <= part.end; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + (at - part.start), 8);
        word = arch_untagged(word);
        if (word - f->low < f->span && reachability_find(f, word) != UINT32_MAX &&
            reachability_find(f, at) == UINT32_MAX && is_inherited(t, at, m->start, last))
            reachability_word(f, word);
    }
}

void scan_forked_roots(struct target *t, struct memory *m, struct reachability *reach)
{
    char buffer[BUFFER];
    struct address_set parts = {0};
    struct found last = {0};
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        parts.items.count = 0;
        if (each->writable && (each->kind == REGION_ANONYMOUS || each->kind == REGION_HEAP))
            address_set_inside(&m->written, each->start, each->end, &parts);
        for (size_t k = 0; k < parts.items.count; k++) {
            struct address_range all = parts.items.items[k];
            for (uint64_t at = all.start; at < all.end; at += BUFFER) {
                struct address_range part = {at, all.end - at > BUFFER ? at + BUFFER : all.end};
                memory_read(m, &part, 1, buffer);
                take_words(t, reach, each, part, buffer, &last);
            }
        }
    }
    address_set_release(&parts);
}
