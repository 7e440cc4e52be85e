#include "collect/flood.h"

#include <string.h>

#define BUFFER    (1u << 20)
#define BATCH     1024u       /* blocks that are read at once */
#define SMALL     (64u << 10) /* larger ones are read one by one */
#define NEAR      256u        /* a gap that is read along with what is beside it */
#define AREA_GAP  (UINT64_C(1) << 20)
#define LOOKAHEAD 32
#define NONE      UINT32_MAX

/* --- which block is it? ----------------------------------------------------------------------- */

void flood_add(struct flood *r, uint64_t address, uint64_t size)
{
    *vec_push(&r->blocks) =
        (struct flood_block){.address = address, .size = size ? size : 1, .state = REACH_UNKNOWN};
}

static int by_address(const void *a, const void *b)
{
    const struct flood_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Several tables were added, one after the other. */
static void put_in_order(struct flood *r)
{
    struct flood_block *b = r->blocks.items;
    size_t n = r->blocks.count, kept = 0;
    bool ordered = true;
    for (size_t i = 1; i < n && ordered; i++)
        ordered = b[i - 1].address < b[i].address;
    if (ordered)
        return;
    qsort(b, n, sizeof *b, by_address);
    for (size_t i = 0; i < n; i++)
        if (!kept || b[kept - 1].address != b[i].address)
            b[kept++] = b[i];
        else if (b[kept - 1].size < b[i].size)
            b[kept - 1] = b[i];
    r->blocks.count = kept;
}

static uint64_t end_of(const struct flood_block *b)
{
    return b->address + b->size;
}

static void make_cells(struct flood *r, struct flood_area *a, uint32_t end)
{
    const struct flood_block *b = r->blocks.items;
    uint32_t next = a->first;
    while (((a->end - a->start) >> a->shift) > (end - a->first) / 2 + 16)
        a->shift++;
    uint64_t cells = ((a->end - a->start - 1) >> a->shift) + 1;
    a->first_cell = r->cells.count;
    vec_reserve(&r->cells, r->cells.count + cells + 1);
    for (uint64_t c = 0; c <= cells; c++) {
        while (next < end && b[next].address < a->start + (c << a->shift))
            next++;
        *vec_push(&r->cells) = next;
    }
}

void flood_ready(struct flood *r, flood_read *read, void *context)
{
    r->read = read;
    r->context = context;
    r->buffer = xmalloc(BUFFER);
    put_in_order(r);
    const struct flood_block *b = r->blocks.items;
    struct flood_area a = {0};
    uint64_t high = 0;
    for (size_t i = 0; i < r->blocks.count; i++) {
        if (i && b[i].address > a.end && b[i].address - a.end > AREA_GAP) {
            make_cells(r, &a, (uint32_t)i);
            *vec_push(&r->areas) = a;
            a = (struct flood_area){0};
        }
        if (!a.end)
            a = (struct flood_area){.start = b[i].address, .first = (uint32_t)i, .shift = 4};
        a.end = end_of(&b[i]) > a.end ? end_of(&b[i]) : a.end;
        high = a.end > high ? a.end : high;
    }
    if (a.end) {
        make_cells(r, &a, (uint32_t)r->blocks.count);
        *vec_push(&r->areas) = a;
        r->low = b[0].address;
        r->span = high - r->low;
    }
}

static const struct flood_area *area_of(const struct flood *r, uint64_t address)
{
    size_t low = 0, high = r->areas.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->areas.items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct flood_area *a = &r->areas.items[low];
    return low < r->areas.count && a->start <= address ? a : NULL;
}

static const uint32_t *cell_of(const struct flood *r, const struct flood_area *a, uint64_t address)
{
    return &r->cells.items[a->first_cell + ((address - a->start) >> a->shift)];
}

static uint32_t block_in(const struct flood *r, const struct flood_area *a, const uint32_t *cell,
                         uint64_t address)
{
    const struct flood_block *b = r->blocks.items;
    uint32_t low = cell[0], high = cell[1]; /* the first that begins after the address */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > a->first && address - b[low - 1].address < b[low - 1].size ? low - 1 : NONE;
}

uint32_t flood_find(const struct flood *r, uint64_t address)
{
    const struct flood_area *a = address - r->low < r->span ? area_of(r, address) : NULL;
    return a ? block_in(r, a, cell_of(r, a, address), address) : NONE;
}

/* --- words ------------------------------------------------------------------------------------ */

static void mark(struct flood *r, uint32_t block)
{
    if (r->blocks.items[block].state == REACH_UNKNOWN) {
        r->blocks.items[block].state = REACH_REACHABLE;
        *vec_push(&r->found) = block;
    }
}

void flood_word(struct flood *r, uint64_t word)
{
    uint32_t block = flood_find(r, word);
    if (block != NONE)
        mark(r, block);
}

typedef void take_pointer(struct flood *r, uint32_t from, uint64_t word, uint32_t to);

static void take_root(struct flood *r, uint32_t from, uint64_t word, uint32_t to)
{
    (void)from;
    (void)word;
    mark(r, to);
}

static void take_malloc_state(struct flood *r, uint32_t from, uint64_t word, uint32_t to)
{
    const struct flood_block *b = &r->blocks.items[to];
    (void)from;
    if (word - b->address != ((b->size + 23) & ~UINT64_C(15)) - 16)
        mark(r, to);
}

/* A pointer to itself keeps nothing. */
static void take_unreached(struct flood *r, uint32_t from, uint64_t word, uint32_t to)
{
    (void)word;
    if (to == from || r->blocks.items[to].state != REACH_UNKNOWN ||
        (r->pointers.items[r->open] && *vec_last(&r->pointers) == to))
        return;
    r->pointers.items[r->open]++;
    *vec_push(&r->pointers) = to;
}

/* Few words are addresses of blocks; for those that are, several looks into the tables overlap. */
static void take_words(struct flood *r, const char *bytes, size_t size, uint32_t from,
                       take_pointer *take)
{
    struct {
        uint64_t word;
        const struct flood_area *area;
        const uint32_t *cell;
    } near[LOOKAHEAD];
    for (size_t at = 0; at + 8 <= size;) {
        unsigned n = 0;
        for (; at + 8 <= size && n < LOOKAHEAD; at += 8) {
            uint64_t word;
            memcpy(&word, bytes + at, 8);
            if (word - r->low >= r->span)
                continue;
            const struct flood_area *a = area_of(r, word);
            if (!a)
                continue;
            near[n].word = word;
            near[n].area = a;
            near[n].cell = cell_of(r, a, word);
            __builtin_prefetch(near[n++].cell);
        }
        for (unsigned i = 0; i < n; i++)
            __builtin_prefetch(&r->blocks.items[near[i].cell[0]]);
        for (unsigned i = 0; i < n; i++) {
            uint32_t to = block_in(r, near[i].area, near[i].cell, near[i].word);
            if (to != NONE)
                take(r, from, near[i].word, to);
        }
    }
}

static void take_range(struct flood *r, uint64_t start, uint64_t end, uint32_t from,
                       take_pointer *take)
{
    start = (start + 7) & ~UINT64_C(7);
    while (start + 8 <= end) {
        struct extent s = {start, end - start > BUFFER ? start + BUFFER : end};
        r->read(r->context, &s, 1, r->buffer);
        take_words(r, r->buffer, s.end - s.start, from, take);
        start = s.end;
    }
}

void flood_from(struct flood *r, uint64_t start, uint64_t end, bool malloc_state)
{
    const struct flood_block *b = r->blocks.items;
    size_t low = 0, high = r->blocks.count; /* the first block that ends after the start */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&b[middle]) <= start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->blocks.count && b[low].address < end; low++) {
        if (b[low].address > start)
            take_range(r, start, b[low].address, NONE,
                       malloc_state ? take_malloc_state : take_root);
        start = end_of(&b[low]);
    }
    take_range(r, start, end, NONE, malloc_state ? take_malloc_state : take_root);
}

/* --- from block to block ---------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void begin_pointers(struct flood *r)
{
    r->open = r->pointers.count;
    *vec_push(&r->pointers) = 0;
}

/* Reads small blocks, whose numbers ascend, and takes their words. */
static void take_blocks(struct flood *r, const uint32_t *numbers, size_t count, take_pointer *take)
{
    struct extent spans[BATCH];
    uint32_t places[BATCH]; /* in the buffer */
    size_t n = 1, used = 0;
    if (!count)
        return;
    spans[0].start = spans[0].end = r->blocks.items[numbers[0]].address;
    for (size_t i = 0; i < count; i++) {
        const struct flood_block *b = &r->blocks.items[numbers[i]];
        struct extent *last = &spans[n - 1];
        if (b->address >= last->end && b->address - last->end <= NEAR) {
            used += b->address - last->end;
            last->end = end_of(b);
        } else {
            used = (used + 7) & ~(size_t)7;
            spans[n++] = (struct extent){b->address, end_of(b)};
        }
        places[i] = (uint32_t)used;
        used += b->size;
    }
    /* Pieces follow each other in the buffer without gaps: their ends are moved to whole words. */
    for (size_t i = 0; i < n; i++)
        spans[i].end += (spans[i].start - spans[i].end) & 7;
    r->read(r->context, spans, n, r->buffer);
    for (size_t i = 0; i < count; i++) {
        uint64_t size = r->blocks.items[numbers[i]].size;
        if (take == take_unreached)
            begin_pointers(r);
        take_words(r, r->buffer + places[i], size, numbers[i], take);
    }
}

/* With room for what is read beside it. */
static bool fits(const struct flood_block *b, size_t *used)
{
    if (*used + b->size + NEAR + 8 > BUFFER)
        return false;
    *used += b->size + NEAR + 8;
    return true;
}

/* Follows what was found until nothing new is. */
static void follow(struct flood *r)
{
    uint32_t numbers[BATCH];
    while (r->found.count) {
        size_t n = 0, used = 0;
        bool ordered = true;
        while (n < BATCH && r->found.count) {
            uint32_t number = *vec_last(&r->found);
            const struct flood_block *b = &r->blocks.items[number];
            if (b->size <= SMALL && !fits(b, &used))
                break;
            r->found.count--;
            if (b->size <= SMALL) {
                ordered &= !n || numbers[n - 1] < number;
                numbers[n++] = number;
            } else {
                take_range(r, b->address, end_of(b), number, take_root);
            }
        }
        if (!ordered)
            qsort(numbers, n, sizeof *numbers, by_number);
        take_blocks(r, numbers, n, take_root);
    }
}

/* What blocks that were not reached point to, of their kind. */
static void note_pointers(struct flood *r)
{
    uint32_t numbers[BATCH];
    size_t n = 0, used = 0;
    for (uint32_t i = 0; i < r->blocks.count; i++) {
        const struct flood_block *b = &r->blocks.items[i];
        if (b->state != REACH_UNKNOWN)
            continue;
        if (n == BATCH || b->size > SMALL || !fits(b, &used)) {
            take_blocks(r, numbers, n, take_unreached);
            n = used = 0;
            if (b->size > SMALL) {
                begin_pointers(r);
                take_range(r, b->address, end_of(b), i, take_unreached);
                continue;
            }
            fits(b, &used);
        }
        numbers[n++] = i;
    }
    take_blocks(r, numbers, n, take_unreached);
}

void flood_run(struct flood *r)
{
    follow(r);
    note_pointers(r);
}

/* All that a block leads to is indirect, what was called lost before too; but not the block. */
static void demote(struct flood *r, uint32_t from)
{
    *vec_push(&r->found) = from;
    while (r->found.count) {
        const struct flood_block *b = &r->blocks.items[r->found.items[--r->found.count]];
        const uint32_t *pointers = &r->pointers.items[b->size];
        for (uint32_t i = 1; i <= pointers[0]; i++) {
            struct flood_block *to = &r->blocks.items[pointers[i]];
            if (to->state == REACH_UNKNOWN)
                *vec_push(&r->found) = pointers[i];
            if (pointers[i] != from)
                to->state = REACH_INDIRECT;
        }
    }
}

void flood_settle(struct flood *r)
{
    size_t at = 0;
    for (uint32_t i = 0; i < r->blocks.count; i++)
        if (r->blocks.items[i].state == REACH_UNKNOWN) {
            r->blocks.items[i].size = at;
            at += 1 + r->pointers.items[at];
        }
    for (uint32_t i = 0; i < r->blocks.count; i++)
        if (r->blocks.items[i].state == REACH_UNKNOWN) {
            r->blocks.items[i].state = REACH_LOST;
            demote(r, i);
        }
}

void flood_release(struct flood *r)
{
    vec_release(&r->blocks);
    vec_release(&r->areas);
    vec_release(&r->cells);
    vec_release(&r->found);
    vec_release(&r->pointers);
    free(r->buffer);
    *r = (struct flood){0};
}
