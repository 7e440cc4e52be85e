#include "collect/sampling/fault_owners.h"

/* The start of a block is searched for page by page, at most this far back: 1 GiB. */
#define FURTHEST (UINT64_C(1) << 30)

static bool is_last(struct owner *last, struct target *t, uint64_t address)
{
    struct block now, *b = &last->block;
    return address >= b->address && address - b->address < b->usable &&
           block_index_holding(t, b->address, b->address, &now) && now.address == b->address &&
           now.usable == b->usable && now.site == b->site;
}

bool owner_find(struct owner *last, struct target *t, const struct sampled_map *m, uint64_t address,
                uint32_t *account)
{
    if (!t->header || !m || m->is_file)
        return false;
    const struct program_mmap *range = program_mmaps_holding(&t->program_mmaps, address);
    uint64_t lowest = range ? range->start : m->start;
    if (address - lowest > FURTHEST)
        lowest = address - FURTHEST;
    if (is_last(last, t, address) || block_index_holding(t, address, lowest, &last->block)) {
        *account = last->block.site;
        return true;
    }
    if (range)
        *account = range->account;
    return range != NULL;
}
