#include "analyse/realloc_chains.h"

#include <stdlib.h>
#include <string.h>

#include "base/divisor.h"
#include "base/text.h"
#include "model/function_name.h"

#define GROWTHS_LEAST   3           /* of the longest chain: fewer may be chance */
#define COPIED_LEAST    (64 * 1024) /* bytes: less is not worth reporting */
#define MATTERS_LARGEST (16 * 1024) /* a chain matters if its largest array has so many bytes, */
#define MATTERS_COPIED  (64u << 20) /* or if so many bytes were copied in all */
#define OTHERWISE_MOST  5           /* at most one replacement in so many may be of another kind */
#define FRAMES_OF_STD   16 /* how many frames of std:: may be between the vector and its caller */
#define ITEM_BYTES_MOST 65536 /* something larger is hardly an item */
/* If arrays grow by less than this factor, the item is nearly all that their sizes have in
 * common. */
#define FACTOR_UNEVEN 1.9
#define SIZES_UNEVEN  6 /* and if there were at least so many growths */

static void add_figures(struct chain_figures *to, const struct chain_figures *from)
{
    const struct chain_figures was = *to;
    const uint64_t *add = (const uint64_t *)from;
    uint64_t *sum = (uint64_t *)to;
    for (size_t k = 0; k < sizeof *to / sizeof *sum; k++)
        sum[k] += add[k];
#define MOST(field) to->field = was.field > from->field ? was.field : from->field
    MOST(longest);
    MOST(largest_bytes);
    MOST(transient_bytes);
    MOST(left_bytes);
#undef MOST
    to->first_bytes =
        was.growths && was.first_bytes < from->first_bytes ? was.first_bytes : from->first_bytes;
    to->unit_bytes = common_divisor(was.unit_bytes, from->unit_bytes);
}

static bool is_convincing(const struct chain_figures *f)
{
    uint64_t further = f->growths - f->chains; /* growths with an earlier one in the same chain */
    if (f->longest < GROWTHS_LEAST || f->copied_bytes < COPIED_LEAST || f->chains > f->growths ||
        f->old_bytes == 0)
        return false;
    if (f->by_realloc > f->growths / 2)
        return true;
    return f->otherwise <= f->growths / OTHERWISE_MOST && f->even >= further - further / 2;
}

/* Did std::vector request the memory? */
static bool is_vector(const struct answer *a, uint32_t node)
{
    const struct profile *p = a->profile;
    unsigned left = FRAMES_OF_STD;
    for (; node && left; node = p->nodes.items[node].parent) {
        uint32_t run = map_get(&p->symbols, p->nodes.items[node].address);
        if (run == MAP_NONE || run + 1 >= p->frame_runs.count)
            return false;
        for (uint32_t i = p->frame_runs.items[run]; i < p->frame_runs.items[run + 1]; i++) {
            const char *name = strpool_get(&a->recording->strings, p->frames.items[i].function);
            struct name_part bare = name_bare(name);
            const char *vector = memmem(bare.text, bare.size, "vector<", 7);
            if (!name_part_is_std(bare) && !name_part_is_allocator(bare))
                return false;
            if (vector && !memchr(bare.text, '<', (size_t)(vector - bare.text)))
                return true;
            if (!--left)
                return false;
        }
    }
    return false;
}

/*
 * A vector that is filled item by item begins with one item, and all its sizes are multiples of
 * that. For an array that does not double, the item is nearly all that its sizes have in common. If
 * neither applies, the first size may be any number of items.
 */
static uint64_t item_of(const struct chain *c, const struct answer *a)
{
    const struct chain_figures *f = &c->of;
    if (f->unit_bytes == 0 || f->unit_bytes > ITEM_BYTES_MOST || f->first_bytes < f->unit_bytes)
        return 0;
    if (c->factor < FACTOR_UNEVEN)
        return f->longest >= SIZES_UNEVEN ? f->unit_bytes : 0;
    return f->unit_bytes == f->first_bytes && is_vector(a, c->node) ? f->unit_bytes : 0;
}

static int by_copied(const void *a, const void *b)
{
    const struct chain *x = a, *y = b;
    if (x->of.copied_bytes != y->of.copied_bytes)
        return x->of.copied_bytes > y->of.copied_bytes ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

/* Collects all rows that pass the filter, and joins those of one line. */
static void gather(struct chains *c, const struct places *places)
{
    const struct profile *p = places->total.profile;
    const struct call_tree *tree = &places->total.tree;
    struct map numbers = {0};
    VEC(uint64_t) most = {0}; /* bytes copied at the stack that is shown */
    for (size_t i = 0; i < p->chains.count; i++) {
        const struct chain_row *row = &p->chains.items[i];
        uint32_t place = places->of_site[row->site], call = tree->site_call[row->site];
        if (place == PLACE_NONE)
            continue;
        uint32_t *number = map_at(&numbers, (uint64_t)place << 32 | tree->frame.items[call]);
        if (*number == MAP_NONE) {
            *number = (uint32_t)c->list.count;
            *vec_push(&c->list) = (struct chain){.place = place};
            *vec_push(&most) = 0;
        }
        struct chain *chain = &c->list.items[*number];
        if (!chain->call || row->of.copied_bytes > most.items[*number]) {
            most.items[*number] = row->of.copied_bytes;
            chain->call = call;
            chain->node = p->sites.items[row->site].node;
        }
        add_figures(&chain->of, &row->of);
    }
    map_release(&numbers);
    vec_release(&most);
}

void chains_find(struct chains *c, const struct places *places)
{
    size_t kept = 0;
    *c = (struct chains){0};
    gather(c, places);
    for (size_t i = 0; i < c->list.count; i++) {
        struct chain *chain = &c->list.items[i];
        if (!is_convincing(&chain->of))
            continue;
        chain->factor = (double)chain->of.new_bytes / (double)chain->of.old_bytes;
        chain->item_bytes = item_of(chain, &places->total);
        c->list.items[kept++] = *chain;
    }
    c->list.count = kept;
    if (kept)
        qsort(c->list.items, kept, sizeof *c->list.items, by_copied);
}

bool chain_is_frozen(const char *file)
{
    return text_begins(file, "<frozen ");
}

bool chain_matters(const struct places *places, const struct chain *chain)
{
    const struct call_frame *frame = places_frame(places, chain->call);
    const char *file = frame->file ? frame_table_string(&places->total.frames, frame->file) : "";
    return !chain_is_frozen(file) &&
           (chain->of.largest_bytes >= MATTERS_LARGEST || chain->of.copied_bytes >= MATTERS_COPIED);
}

void chains_release(struct chains *c)
{
    vec_release(&c->list);
}
