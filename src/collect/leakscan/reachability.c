#include "collect/leakscan/reachability.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/leakscan/pointer_lookup.h"
#include "collect/proc/glibc_layout.h"
#include "machine/code.h"

#define NEAR      256u        /* a smaller gap is read together with what is beside it */
#define LARGE     (64u << 10) /* a larger block is read alone, and only where it was touched */
#define BETWEEN   4096u       /* smaller blocks between roots are read together with the roots */
#define LOOKAHEAD 32          /* lookups that wait for the cache at the same time */

#define READERS    4                   /* threads that read blocks at the same time, at most */
#define READ_BYTES (UINT64_C(4) << 20) /* fewer are not worth another thread */
#define READ_STACK (1u << 20)          /* RLIMIT_STACK may be the program's own, and small */
#define SHARES     64                  /* parts of the blocks; each is read by one thread */
#define BLOCK_COST 100                 /* to read a block, in bytes that take as long */

#define SEEN_AGAIN REACHES /* a temporary state */

/* --- reading words ---------------------------------------------------------------------------- */

/* Other threads may be reading `blocks` meanwhile, so their states are not changed yet. */
static void mark(struct reachability *f, uint32_t block)
{
    f->rooted[block / 64] |= UINT64_C(1) << block % 64;
}

void reachability_word(struct reachability *f, uint64_t word)
{
    word = address_in(word);
    const struct reachability_area *a = word - f->low < f->span ? area_of(f, word) : NULL;
    uint32_t ended = NONE;
    uint32_t block = a ? block_in(f, a, cell_of(f, a, word), word, &ended) : NONE;
    if (block != NONE)
        mark(f, block);
    if (ended != NONE)
        *vec_push(&f->ended) = ended;
}

/* The pointers of some of the blocks. */
struct notes {
    const struct reachability *reach;
    uint32_t first, end;    /* the numbers of the blocks: [first, end) */
    VEC(uint32_t) pointers; /* for each block: how many pointers, then their targets */
    /* In `pointers`: where the entry of the current block begins. */
    size_t open;
    uint32_t begun;      /* the number after the current block's */
    VEC(uint32_t) empty; /* blocks whose last word is 0 and which may be empty arrays */
    char *buffer;        /* of the thread that reads them */
};

struct reachability_notes {
    struct notes shares[SHARES]; /* in order of the blocks */
    unsigned count;
    _Atomic unsigned next; /* the first share that no thread has taken */
    unsigned helpers;
    pthread_t threads[READERS - 1];
};

/* Called for each pointer that is found. `from` is the block that holds it, or NONE. `taker` is a
 * struct reachability for roots, otherwise struct notes. `to` may have REACHABILITY_PAST_END
 * set. */
typedef void take_pointer(void *taker, uint32_t from, uint64_t word, uint32_t to);

static void take_root(void *taker, uint32_t from, uint64_t word, uint32_t to)
{
    struct reachability *f = taker;
    (void)from;
    (void)word;
    if (to & REACHABILITY_PAST_END)
        *vec_push(&f->ended) = to & ~REACHABILITY_PAST_END;
    else
        mark(f, to);
}

static void take_malloc_state(void *taker, uint32_t from, uint64_t word, uint32_t to)
{
    struct reachability *f = taker;
    (void)from;
    if (to & REACHABILITY_PAST_END)
        return; /* where a block ends, the header of a free chunk may begin */
    const struct reachability_block *b = &f->blocks.items[to];
    if (b->size <= 16 || word - b->address != glibc_next_chunk(b->size))
        mark(f, to);
}

/* Adds empty entries for the blocks since the last one that had pointers, and begins the entry of
 * `block`. */
static void begin_block(struct notes *n, uint32_t block)
{
    for (; n->begun <= block; n->begun++) {
        n->open = n->pointers.count;
        *vec_push(&n->pointers) = 0;
    }
}

/* A pointer to its own block keeps nothing alive, and a second pointer to the same block adds
 * nothing. */
static void take_note(void *taker, uint32_t from, uint64_t word, uint32_t to)
{
    struct notes *n = taker;
    (void)word;
    begin_block(n, from);
    if ((to & ~REACHABILITY_PAST_END) == from ||
        (n->pointers.items[n->open] && (*vec_last(&n->pointers) == to ||
                                        *vec_last(&n->pointers) == (to & ~REACHABILITY_PAST_END))))
        return;
    n->pointers.items[n->open]++;
    *vec_push(&n->pointers) = to;
}

/* A batch of words that may be pointers: several table lookups overlap. */
struct lookups {
    unsigned count;
    struct {
        uint64_t word;
        const struct reachability_area *area;
        const uint32_t *cell;
        uint32_t from;
    } items[LOOKAHEAD];
};

static inline void lookups_finish(const struct reachability *f, struct lookups *l,
                                  take_pointer *take, void *taker)
{
    for (unsigned i = 0; i < l->count; i++)
        __builtin_prefetch(&f->blocks.items[l->items[i].cell[0]]);
    for (unsigned i = 0; i < l->count; i++) {
        uint32_t ended;
        uint32_t to = block_in(f, l->items[i].area, l->items[i].cell, l->items[i].word, &ended);
        if (to != NONE)
            take(taker, l->items[i].from, l->items[i].word, to);
        if (ended != NONE)
            take(taker, l->items[i].from, l->items[i].word, ended | REACHABILITY_PAST_END);
    }
    l->count = 0;
}

static inline void look_up(const struct reachability *f, struct lookups *l, uint64_t word,
                           uint32_t from, take_pointer *take, void *taker)
{
    const struct reachability_area *a = area_of(f, word);
    if (!a)
        return;
    const uint32_t *cell = cell_of(f, a, word);
    __builtin_prefetch(cell);
    l->items[l->count].word = word;
    l->items[l->count].area = a;
    l->items[l->count].cell = cell;
    l->items[l->count++].from = from;
    if (l->count == LOOKAHEAD)
        lookups_finish(f, l, take, taker);
}

static inline void take_words(const struct reachability *f, struct lookups *l, const char *bytes,
                              size_t size, uint32_t from, take_pointer *take, void *taker)
{
    uint64_t word;
    size_t at = 0;
    for (; at + 8 <= size; at += 8)
        if (pointer_at(f, bytes, at, &word))
            look_up(f, l, word, from, take, taker);
    if (at + 4 <= size && is_int(f, bytes, at)) { /* a block that ends after one digit */
        uint32_t digit;
        memcpy(&digit, bytes + at, 4);
        if (int_points(f, bytes + at, digit, &word))
            look_up(f, l, word, from, take, taker);
    }
}

static void take_range(const struct reachability *f, char *buffer, struct address_range range,
                       uint32_t from, take_pointer *take, void *taker)
{
    uint64_t start = range.start, end = range.end;
    struct lookups lookups = {.count = 0};
    start = (start + 7) & ~UINT64_C(7);
    while (start + 8 <= end) {
        struct address_range s = {start, end};
        if (f->next)
            s = f->next(f->context, s);
        if (s.start == end)
            break;
        if (s.end - s.start > REACHABILITY_BUFFER)
            s.end = s.start + REACHABILITY_BUFFER;
        f->read(f->context, &s, 1, buffer);
        take_words(f, &lookups, buffer, s.end - s.start, from, take, taker);
        lookups_finish(f, &lookups, take, taker);
        start = s.end;
        if (start < end && f->python_int_type && s.end - s.start > PYTHON_INT_HEADER)
            start -= PYTHON_INT_HEADER; /* an int may lie across the end */
    }
}

/* Roots between small blocks, as in the heap of a program with an allocator of its own: few bytes
 * each, but very many. They are read at once, together with the blocks. */
struct between {
    const struct reachability *reach;
    take_pointer *take;
    void *taker;
    VEC(struct address_range) ranges;
};

static void between_finish(struct between *n)
{
    const struct reachability *f = n->reach;
    struct lookups lookups = {.count = 0};
    if (!n->ranges.count)
        return;
    struct address_range all = {n->ranges.items[0].start, vec_last(&n->ranges)->end};
    f->read(f->context, &all, 1, f->buffer);
    for (size_t i = 0; i < n->ranges.count; i++) {
        struct address_range each = n->ranges.items[i];
        take_words(f, &lookups, f->buffer + (each.start - all.start), each.end - each.start, NONE,
                   n->take, n->taker);
    }
    lookups_finish(f, &lookups, n->take, n->taker);
    n->ranges.count = 0;
}

static void between_add(struct between *n, uint64_t start, uint64_t end)
{
    start = (start + 7) & ~UINT64_C(7);
    if (start + 8 > end)
        return;
    if (n->ranges.count && (start - vec_last(&n->ranges)->end > BETWEEN ||
                            end - n->ranges.items[0].start > REACHABILITY_BUFFER))
        between_finish(n);
    if (end - start <= BETWEEN)
        *vec_push(&n->ranges) = (struct address_range){start, end};
    else
        take_range(n->reach, n->reach->buffer, (struct address_range){start, end}, NONE, n->take,
                   n->taker);
}

void reachability_from(struct reachability *f, uint64_t start, uint64_t end, bool malloc_state)
{
    const struct reachability_block *b = f->blocks.items;
    struct between between = {f, malloc_state ? take_malloc_state : take_root, f, {0}};
    size_t at; /* the first block that ends after the start */
    BISECT(at, f->blocks.count, end_of(&b[at]) <= start);
    for (; at < f->blocks.count && b[at].address < end; at++) {
        if (b[at].address > start)
            between_add(&between, start, b[at].address);
        start = end_of(&b[at]) > start ? end_of(&b[at]) : start;
    }
    between_add(&between, start, end);
    between_finish(&between);
    vec_release(&between.ranges);
}

void reachability_from_code(struct reachability *f, uint64_t start, uint64_t end)
{
    while (ARCH_CODE_HAS_ADDRESSES && start + 8 <= end) {
        struct address_range s = {start, end};
        if (f->next)
            s = f->next(f->context, s);
        if (s.start + 8 > end)
            break;
        if (s.end - s.start > REACHABILITY_BUFFER)
            s.end = s.start + REACHABILITY_BUFFER;
        f->read(f->context, &s, 1, f->buffer);
        for (size_t at = 0; at + 8 <= s.end - s.start; at++) {
            uint64_t word;
            memcpy(&word, f->buffer + at, 8);
            if (word - f->low < f->span)
                reachability_word(f, word);
        }
        start = s.end < end && s.end - s.start > 8 ? s.end - 7 : s.end;
    }
}

/* --- from block to block ---------------------------------------------------------------------- */

/* Notes the pointers in blocks [first, end), which are near each other in memory. */
static void note_blocks(struct notes *n, uint32_t first, uint32_t end, uint64_t last_address)
{
    const struct reachability *f = n->reach;
    const struct reachability_block *b = f->blocks.items;
    uint64_t start = b[first].address;
    struct address_range s = {start, last_address};
    struct lookups lookups = {.count = 0};
    f->read(f->context, &s, 1, n->buffer);
    for (uint32_t i = first; i < end; i++) {
        if (may_be_empty_array(&b[i])) {
            uint64_t length;
            memcpy(&length, n->buffer + (end_of(&b[i]) - 8 - start), 8);
            if (!length)
                *vec_push(&n->empty) = i;
        }
        take_words(f, &lookups, n->buffer + (b[i].address - start), b[i].size, i, take_note, n);
    }
    lookups_finish(f, &lookups, take_note, n);
}

static void note_share(struct notes *n)
{
    const struct reachability_block *b = n->reach->blocks.items;
    n->begun = n->first;
    vec_reserve(&n->pointers, n->end - n->first);
    for (uint32_t i = n->first; i < n->end;) {
        uint64_t last = end_of(&b[i]);
        uint32_t end = i + 1;
        if (b[i].size > LARGE) {
            take_range(n->reach, n->buffer, (struct address_range){b[i].address, last}, i,
                       take_note, n);
            i = end;
            continue;
        }
        while (end < n->end && b[end].size <= LARGE && b[end].address < last + NEAR &&
               end_of(&b[end]) - b[i].address <= REACHABILITY_BUFFER) {
            last = end_of(&b[end]) > last ? end_of(&b[end]) : last;
            end++;
        }
        note_blocks(n, i, end, last);
        i = end;
    }
    if (n->end > n->first)
        begin_block(n, n->end - 1);
}

/* Reads shares until all are taken: one may have a large block, and another only small ones. */
static void *note_shares(void *notes)
{
    struct reachability_notes *k = notes;
    char *buffer = xmalloc(REACHABILITY_BUFFER);
    for (unsigned i; (i = atomic_fetch_add(&k->next, 1)) < k->count;) {
        k->shares[i].buffer = buffer;
        note_share(&k->shares[i]);
    }
    free(buffer);
    return NULL;
}

unsigned reachability_threads(uint64_t bytes)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned most = processors < 2 ? 1 : processors < READERS ? (unsigned)processors : READERS;
    return bytes / READ_BYTES < most ? (unsigned)(bytes / READ_BYTES) + 1 : most;
}

/* Divides the blocks into shares that take about the same time. Returns the number of bytes. */
static uint64_t divide(const struct reachability *f, struct reachability_notes *k)
{
    uint32_t count = (uint32_t)f->blocks.count;
    uint64_t bytes = 0, before = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += f->blocks.items[i].size;
    const uint64_t each = (bytes + (uint64_t)count * BLOCK_COST) / SHARES + 1;
    k->shares[0] = (struct notes){.reach = f};
    for (uint32_t i = 0; i < count; i++) {
        if (k->count + 1 < SHARES && before > each * (k->count + 1)) {
            k->shares[k->count++].end = i;
            k->shares[k->count] = (struct notes){.reach = f, .first = i};
        }
        before += f->blocks.items[i].size + BLOCK_COST;
    }
    k->shares[k->count++].end = count;
    return bytes;
}

void reachability_note_begin(struct reachability *f)
{
    struct reachability_notes *k = f->notes = xcalloc(1, sizeof *k);
    unsigned threads = reachability_threads(divide(f, k));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, READ_STACK);
    while (k->helpers + 1 < threads &&
           pthread_create(&k->threads[k->helpers], &attributes, note_shares, k) == 0)
        k->helpers++;
    pthread_attr_destroy(&attributes);
}

void reachability_note(struct reachability *f)
{
    struct reachability_notes *k = f->notes;
    size_t pointers = 0;
    note_shares(k);
    for (unsigned i = 0; i < k->helpers; i++)
        pthread_join(k->threads[i], NULL);
    for (unsigned i = 0; i < k->count; i++)
        pointers += k->shares[i].pointers.count;
    vec_reserve(&f->pointers, pointers);
    for (unsigned i = 0; i < k->count; i++) {
        struct notes *n = &k->shares[i];
        if (n->pointers.count)
            memcpy(f->pointers.items + f->pointers.count, n->pointers.items,
                   n->pointers.count * sizeof *n->pointers.items);
        f->pointers.count += n->pointers.count;
        vec_release(&n->pointers);
        for (size_t j = 0; j < n->empty.count; j++)
            f->blocks.items[n->empty.items[j]].empty = true;
        vec_release(&n->empty);
    }
    free(k);
    f->notes = NULL;
}

/* Takes the blocks that roots point to. */
static void take_rooted(struct reachability *f)
{
    for (size_t i = 0; i < f->ended.count; i++)
        if (f->blocks.items[f->ended.items[i]].empty)
            mark(f, f->ended.items[i]);
    for (uint32_t i = 0; i < f->blocks.count; i++)
        if (f->rooted[i / 64] >> i % 64 & 1) {
            f->blocks.items[i].state = REACH_REACHABLE;
            *vec_push(&f->found) = i;
        }
}

#define NO_ROOT UINT64_MAX

/* Takes the blocks in `found`, and everything that they lead to, from one state to another. If
 * `root` is given, the number of the root replaces the index of each block's pointers, which is not
 * needed again. */
static void spread(struct reachability *f, unsigned from, unsigned to, uint64_t root)
{
    while (f->found.count) {
        struct reachability_block *b = &f->blocks.items[f->found.items[--f->found.count]];
        const uint32_t *pointers = &f->pointers.items[b->entry];
        if (root != NO_ROOT)
            b->root = root;
        for (uint32_t i = 1; i <= pointers[0]; i++) {
            uint32_t target = pointers[i] & ~REACHABILITY_PAST_END;
            struct reachability_block *t = &f->blocks.items[target];
            if (t->state == from && (target == pointers[i] || t->empty)) {
                t->state = to & 0x7fff;
                *vec_push(&f->found) = target;
            }
        }
    }
}

/*
 * Takes every block that no earlier block leads to as a candidate. Then visits the candidates in
 * reverse order: one that no later candidate leads to is lost, as no earlier block leads to it
 * either.
 */
static void classify_lost(struct reachability *f)
{
    VEC(uint32_t) firsts = {0};
    for (uint32_t i = 0; i < f->blocks.count; i++)
        if (f->blocks.items[i].state == REACH_UNKNOWN) {
            f->blocks.items[i].state = REACH_INDIRECT;
            *vec_push(&firsts) = i;
            *vec_push(&f->found) = i;
            spread(f, REACH_UNKNOWN, REACH_INDIRECT, NO_ROOT);
        }
    for (size_t k = firsts.count; k-- > 0;) {
        struct reachability_block *b = &f->blocks.items[firsts.items[k]];
        if (b->state == REACH_INDIRECT) {
            b->state = REACH_LOST;
            *vec_push(&f->found) = firsts.items[k];
            spread(f, REACH_INDIRECT, SEEN_AGAIN, f->roots++);
        }
    }
    for (size_t i = 0; i < f->blocks.count; i++)
        if (f->blocks.items[i].state == SEEN_AGAIN)
            f->blocks.items[i].state = REACH_INDIRECT;
    vec_release(&firsts);
}

void reachability_run(struct reachability *f)
{
    size_t at = 0;
    for (uint32_t i = 0; i < f->blocks.count; i++) {
        f->blocks.items[i].entry = at;
        at += 1 + f->pointers.items[at];
    }
    take_rooted(f);
    spread(f, REACH_UNKNOWN, REACH_REACHABLE, NO_ROOT);
    classify_lost(f);
}

void reachability_release(struct reachability *f)
{
    vec_release(&f->blocks);
    vec_release(&f->areas);
    vec_release(&f->cells);
    vec_release(&f->found);
    vec_release(&f->ended);
    vec_release(&f->pointers);
    free(f->rooted);
    free(f->buffer);
    *f = (struct reachability){0};
}
