#include "collect/counting/pools.h"

#include <stdlib.h>

#include "collect/counting/target.h"

static struct pool *pool_at(struct pools *p, uint64_t number)
{
    if (number == 0 || number >= WIRE_POOLS)
        return NULL;
    while (p->list.count <= number)
        *vec_push(&p->list) = (struct pool){0};
    return &p->list.items[number];
}

enum domain pools_domain(uint32_t number)
{
    return number == WIRE_POOL_TENSORS                                  ? DOMAIN_TENSOR
           : number == WIRE_POOL_GPU || number == WIRE_POOL_GPU_HANDLES ? DOMAIN_GPU
                                                                        : DOMAIN_POOL;
}

void pools_name(struct target *t, uint64_t number, const char *name)
{
    struct pool *pool = pool_at(&t->pools, number);
    if (!pool)
        return;
    free(pool->name);
    pool->name = xstrdup(name);
}

void pools_alloc(struct target *t, uint32_t number, uint32_t account, uint64_t address,
                 uint64_t size)
{
    struct pool *pool = pool_at(&t->pools, number);
    struct block old,
        block = {.address = address, .size = size & WIRE_LOW48, .usable = 1, .site = account};
    if (!pool)
        return;
    if (blocks_put(&pool->live, &block, &old)) {
        ledger_free(&t->ledger, old.site, old.size, old.size, false);
        t->pools.replaced_blocks += pools_domain(number) == DOMAIN_POOL;
    }
    ledger_alloc(&t->ledger, account, block.size, block.size, false);
}

/* Adds a reference to a block, if there is one. */
static void refer(struct pool *pool, uint64_t address)
{
    struct block block;
    if (!pool || !blocks_take(&pool->live, address, &block))
        return;
    block.usable++;
    blocks_put(&pool->live, &block, &block);
}

/* Ends a reference to a block; false: there is no such block. *before: the block until then. */
static bool release(struct target *t, struct pool *pool, uint64_t address, struct block *before)
{
    struct block block;
    if (!pool || !blocks_take(&pool->live, address, &block))
        return false;
    *before = block;
    if (--block.usable)
        blocks_put(&pool->live, &block, &block);
    else
        ledger_free(&t->ledger, block.site, block.size, block.size, false);
    return true;
}

void pools_free(struct target *t, uint64_t number, uint64_t address, struct pool_free *freed)
{
    struct pool *pool = pool_at(&t->pools, number);
    freed->number = release(t, pool, address, &freed->block) ? number : 0;
    if (!freed->number && !t->was_paused && pools_domain((uint32_t)number) == DOMAIN_POOL)
        t->pools.unknown_frees++;
}

void pools_put_back(struct target *t, struct pool_free *freed, uint64_t address)
{
    struct block *block = &freed->block, old;
    struct pool *pool = freed->number ? pool_at(&t->pools, freed->number) : NULL;
    freed->number = 0;
    if (!pool || block->address != address)
        return;
    if (block->usable > 1) {
        refer(pool, address);
    } else if (!blocks_put(&pool->live, block, &old)) {
        ledger_unfree(&t->ledger, block->site, block->size, block->size);
    } else {
        ledger_free(&t->ledger, old.site, old.size, old.size, false);
        ledger_unfree(&t->ledger, block->site, block->size, block->size);
    }
}

static void gpu_mapped(struct target *t, struct pool *handles, uint64_t address, uint64_t handle,
                       uint64_t size)
{
    struct block old, before,
        mapped = {.address = address, .size = size & WIRE_LOW48, .usable = handle};
    refer(handles, handle);
    if (blocks_put(&t->pools.gpu_mapped, &mapped, &old))
        release(t, handles, old.usable, &before);
}

/* One call unmaps several mappings that follow each other. */
static void gpu_unmapped(struct target *t, struct pool *handles, uint64_t address, uint64_t size)
{
    struct block mapped, before;
    uint64_t end = address + (size & WIRE_LOW48);
    while (address < end && blocks_take(&t->pools.gpu_mapped, address, &mapped)) {
        release(t, handles, mapped.usable, &before);
        address += mapped.size;
    }
}

void pools_gpu_reference(struct target *t, unsigned what, uint64_t address, uint64_t first,
                         uint64_t second)
{
    struct pool *handles = pool_at(&t->pools, WIRE_POOL_GPU_HANDLES);
    if (what == WIRE_GPU_RETAINED)
        refer(handles, address);
    else if (what == WIRE_GPU_MAPPED)
        gpu_mapped(t, handles, address, first & WIRE_LOW48, second);
    else if (what == WIRE_GPU_UNMAPPED)
        gpu_unmapped(t, handles, address, first);
}

static char *frame_name(const struct pools *p, uint64_t number)
{
    const struct pool *pool = number < p->list.count ? &p->list.items[number] : NULL;
    if (number == WIRE_POOL_ARENAS)
        return xstrdup("[Python arena]");
    if (number == WIRE_POOLS - 1)
        return xstrdup("[pool (others)]");
    return pool && pool->name ? xasprintf("[pool %s]", pool->name)
                              : xasprintf("[pool %llu]", (unsigned long long)number);
}

void pools_finish(struct target *t, struct strpool *strings)
{
    struct profile *p = &t->profile;
    if (!t->pools.list.count && !t->python.has_arenas)
        return;
    for (size_t i = 1; i < p->nodes.count; i++) {
        uint64_t address = p->nodes.items[i].address;
        if (!NODE_IS_POOL(address))
            continue;
        uint32_t *run = map_at(&p->symbols, address);
        if (*run != MAP_NONE)
            continue;
        *run = (uint32_t)p->frame_runs.count;
        *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
        char *name = frame_name(&t->pools, address - NODE_POOL);
        *vec_push(&p->frames) = (struct frame){
            .function = strpool_add(strings, name),
            .module = strpool_add(strings,
                                  address == NODE_POOL + WIRE_POOL_ARENAS ? "[Python]" : "[pool]"),
            .kind = FRAME_NATIVE};
        free(name);
    }
    unsigned long long unknown = t->pools.unknown_frees, replaced = t->pools.replaced_blocks;
    if (unknown)
        *vec_push(&p->notes) = xasprintf(
            "%llu call%s of tide_free %s for blocks that are in no pool: give them the name and "
            "the address that tide_alloc had",
            unknown, unknown == 1 ? "" : "s", unknown == 1 ? "was" : "were");
    if (replaced)
        *vec_push(&p->notes) = xasprintf(
            "%llu call%s of tide_alloc %s for blocks that are in their pool already, which counts "
            "as a free of the old one: call tide_free before a block can be handed out again",
            replaced, replaced == 1 ? "" : "s", replaced == 1 ? "was" : "were");
}

void pools_release_blocks(struct pools *p)
{
    for (size_t i = 0; i < p->list.count; i++)
        blocks_release(&p->list.items[i].live);
    blocks_release(&p->gpu_mapped);
}

void pools_release(struct pools *p)
{
    pools_release_blocks(p);
    for (size_t i = 0; i < p->list.count; i++)
        free(p->list.items[i].name);
    vec_release(&p->list);
}
