#include "collect/attach/heap_before.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "collect/attach/remote_module.h"

#define LIMIT_NS UINT64_C(300000000) /* for how long the program may be stopped for this */

/* Parts of struct malloc_state, counted in words from its bins. */
#define BINS        127 /* pairs of words */
#define BIN_WORDS   (2 * BINS)
#define AT_NEXT     (BIN_WORDS + 2) /* after the bitmap of bins */
#define AT_SYSTEM   (AT_NEXT + 3)
#define WORDS       (AT_SYSTEM + 2)
#define FASTBINS    10
#define BEFORE_BINS (FASTBINS + 2) /* words: fast bins, the top chunk, the last remainder */
#define EMPTY_LEAST 16             /* at least so many bins are empty in any program */
#define ARENAS_MOST 4096
#define HEAPS_MOST  65536
/* Size and alignment of the heaps of all arenas but the main one. */
#define HEAP_SIZE  (UINT64_C(64) << 20)
#define FASTS_MOST (1u << 22)
#define SMALLEST   32
#define HEADER     16 /* bytes of a chunk before its block */
/* This bit in the size field of the next chunk says that a chunk is in use. */
#define IN_USE        1u
#define SIZE_FLAGS    7u
#define NONCONTIGUOUS 2u
#define MMAPS_MOST    65536 /* the default of n_mmaps_max in struct malloc_par */
#define TOP_PAD       (128u << 10)

struct heap_walk {
    struct remote_modules *m;
    struct heap_before *out;
    const struct heap_visitor *visitor; /* NULL: none */
    uint64_t deadline_ns;
    /* Address of the main arena, and the offset of the bins in it. */
    uint64_t main_arena, bins_offset;
    char *buffer;
    uint64_t buffer_start, buffer_size;
    bool mangled; /* the links of fast bins are mangled, as since glibc 2.32 */
};
#define BUFFER (UINT64_C(1) << 20)

static bool get(struct heap_walk *w, uint64_t address, void *out, size_t size)
{
    return remote_memory_read(&w->m->memory, address, out, size) == (ssize_t)size;
}

/* Reads the size field of the chunk at an address through a buffer. */
static bool get_size(struct heap_walk *w, uint64_t chunk, uint64_t end, uint64_t *out)
{
    uint64_t at = chunk + 8;
    if (at < w->buffer_start || at + 8 > w->buffer_start + w->buffer_size) {
        size_t want = end - at > BUFFER ? BUFFER : (size_t)(end - at);
        ssize_t n = want < 8 ? -1 : remote_memory_read(&w->m->memory, at, w->buffer, want);
        if (n < 8)
            return false;
        w->buffer_start = at;
        w->buffer_size = (uint64_t)n;
    }
    memcpy(out, w->buffer + (at - w->buffer_start), 8);
    return true;
}

/* Adds up the chunks in use in [from, to). With `may_end_early`, the heap may end before `to`, at a
 * size that no chunk can have. */
static bool walk_chunks(struct heap_walk *w, uint64_t from, uint64_t to, bool may_end_early)
{
    uint64_t chunk = from, size, next;
    unsigned n = 0;
    if (from == to)
        return true;
    if (!get_size(w, chunk, to + 16, &size))
        return false;
    while (chunk < to) {
        uint64_t length = size & ~(uint64_t)SIZE_FLAGS;
        if (may_end_early && length < SMALLEST)
            return true;
        if (length < SMALLEST || length % 16 || length > to - chunk ||
            !get_size(w, chunk + length, to + 16, &next))
            return false;
        if (next & IN_USE) {
            w->out->blocks++;
            w->out->bytes += length;
            if (w->visitor)
                w->visitor->used(w->visitor->context, chunk + HEADER, length);
        }
        chunk += length;
        size = next;
        if (++n % 65536 == 0 && monotonic_ns() > w->deadline_ns) {
            w->out->state = HEAP_TOO_LARGE;
            return false;
        }
    }
    return chunk == to;
}

/* --- arenas ----------------------------------------------------------------------------------- */

struct arena {
    uint64_t address, words[BEFORE_BINS + WORDS];
    uint32_t flags;
};

#define FAST(a, i) ((a)->words[i])
#define TOP(a)     ((a)->words[FASTBINS])
#define BINS_OF(a) ((a)->words + BEFORE_BINS)
#define NEXT(a)    (BINS_OF(a)[AT_NEXT])
#define SYSTEM(a)  (BINS_OF(a)[AT_SYSTEM])

static bool read_arena(struct heap_walk *w, uint64_t address, struct arena *a)
{
    a->address = address;
    return get(w, address + w->bins_offset - BEFORE_BINS * 8, a->words, sizeof a->words) &&
           get(w, address + 4, &a->flags, sizeof a->flags);
}

/* Subtracts the chunks in fast bins: they are free, but are marked as in use. */
static bool drop_fast(struct heap_walk *w, const struct arena *a)
{
    unsigned n = 0;
    for (unsigned i = 0; i < FASTBINS; i++)
        for (uint64_t chunk = FAST(a, i); chunk;) {
            uint64_t words[3];
            if (chunk % 16 || ++n > FASTS_MOST || !get(w, chunk, words, sizeof words))
                return false;
            uint64_t length = words[1] & ~(uint64_t)SIZE_FLAGS;
            if (!w->out->blocks || w->out->bytes < length)
                return false;
            w->out->blocks--;
            w->out->bytes -= length;
            if (w->visitor)
                w->visitor->unused(w->visitor->context, chunk + HEADER);
            chunk = words[2] ^ (w->mangled ? (chunk + HEADER) >> 12 : 0);
        }
    return true;
}

/* The main arena is what sbrk returned, up to the top chunk. */
static bool walk_main(struct heap_walk *w, const struct arena *a, uint64_t *base)
{
    uint64_t top = TOP(a), size;
    *base = 0;
    if (!SYSTEM(a))
        return true; /* nothing was allocated yet */
    if (a->flags & NONCONTIGUOUS || !get(w, top + 8, &size, sizeof size))
        return false;
    uint64_t end = top + (size & ~(uint64_t)SIZE_FLAGS);
    *base = end - SYSTEM(a);
    return SYSTEM(a) <= end && walk_chunks(w, (*base + 15) & ~UINT64_C(15), top, false) &&
           drop_fast(w, a);
}

/* Every other arena has a list of heaps, the newest first. The arena itself is in the oldest. */
static bool walk_other(struct heap_walk *w, const struct arena *a)
{
    uint64_t info[3], heap = TOP(a) & ~(HEAP_SIZE - 1);
    uint64_t oldest = a->address & ~(HEAP_SIZE - 1), header = a->address - oldest;
    uint64_t arena_end = a->address + w->bins_offset + WORDS * 8;
    for (unsigned i = 0; heap && i < HEAPS_MOST; i++) {
        if (!get(w, heap, info, sizeof info) || info[0] != a->address || info[2] > HEAP_SIZE)
            return false;
        uint64_t from = heap == oldest ? arena_end : heap + header;
        bool newest = heap == (TOP(a) & ~(HEAP_SIZE - 1));
        if (!walk_chunks(w, (from + 15) & ~UINT64_C(15), newest ? TOP(a) : heap + info[2], !newest))
            return false;
        heap = info[1];
    }
    return drop_fast(w, a);
}

/* --- finding the main arena ------------------------------------------------------------------- */

static bool are_bins(const uint64_t *words, uint64_t address)
{
    unsigned empty = 0;
    for (unsigned i = 0; i < BINS; i++) {
        uint64_t self = address + 16 * i - 16, a = words[2 * i], b = words[2 * i + 1];
        if (!a || !b || a % 16 != self % 16 || b % 16 != self % 16)
            if (a != self || b != self)
                return false;
        empty += a == self && b == self;
    }
    return empty >= EMPTY_LEAST;
}

static bool find_main(struct heap_walk *w, const uint64_t *words, size_t count, uint64_t start)
{
    for (size_t i = BEFORE_BINS; i + WORDS <= count; i++) {
        uint64_t address = start + i * 8;
        if (!are_bins(words + i, address))
            continue;
        uint64_t bins = address, next = words[i + AT_NEXT];
        for (unsigned offset = (BEFORE_BINS + 1) * 8; offset <= (BEFORE_BINS + 2) * 8;
             offset += 8) {
            w->main_arena = bins - offset;
            w->bins_offset = offset;
            uint64_t each = next;
            for (unsigned n = 0; n < ARENAS_MOST && each != w->main_arena; n++)
                if (!get(w, each + offset + AT_NEXT * 8, &each, sizeof each))
                    break;
            if (each == w->main_arena)
                return true;
        }
    }
    return false;
}

/* Adds the blocks that have a mapping of their own, which struct malloc_par counts. It is
 * recognised by the address where the heap begins and by defaults that hardly any program
 * changes. */
static bool add_mapped(struct heap_walk *w, const uint64_t *words, size_t count, uint64_t base)
{
    for (size_t i = 0; i + 24 < count; i++) {
        if (words[i + 1] != TOP_PAD || words[i] < TOP_PAD || words[i + 2] < TOP_PAD / 32)
            continue;
        const uint32_t *ints = (const uint32_t *)(words + i + 3);
        for (unsigned k = 1; k < 16; k++) {
            if (ints[k] != MMAPS_MOST)
                continue;
            size_t mapped = i + 3 + (k + 3 + 1) / 2; /* after two more ints, aligned */
            if (base && words[mapped + 2] != base)
                continue;
            w->out->blocks += ints[k - 1];
            w->out->bytes += words[mapped];
            return true;
        }
    }
    return false;
}

static bool count_all(struct heap_walk *w, const uint64_t *words, size_t count, uint64_t start)
{
    struct arena a;
    uint64_t base;
    if (!find_main(w, words, count, start) || !read_arena(w, w->main_arena, &a) ||
        !walk_main(w, &a, &base))
        return false;
    for (unsigned n = 0; NEXT(&a) != w->main_arena; n++)
        if (n > ARENAS_MOST || !read_arena(w, NEXT(&a), &a) || !walk_other(w, &a))
            return false;
    return add_mapped(w, words, count, base);
}

static bool is_served_by(struct remote_modules *m, const struct remote_module *libc)
{
    struct remote_function f;
    for (size_t i = 0; i < m->items.count; i++) {
        struct remote_module *each = &m->items.items[i];
        if (each != libc && each->code_start && !remote_function(m, each, "_r_debug", &f) &&
            !strstr(each->path, "libtidemark") && remote_function(m, each, "malloc", &f) &&
            remote_function(m, each, "free", &f))
            return false;
    }
    return true;
}

bool heap_before_is_mangled(struct remote_modules *m)
{
    struct remote_module *libc = remote_module_named(m, "libc");
    struct remote_function f;
    /* This symbol also came with glibc 2.32. */
    return libc && remote_function(m, libc, "__libc_single_threaded", &f);
}

void heap_before_count(struct remote_modules *m, const struct heap_visitor *visitor,
                       struct heap_before *out)
{
    struct remote_module *libc = remote_module_named(m, "libc");
    *out = (struct heap_before){.state = HEAP_OTHER};
    if (!libc || !is_served_by(m, libc) || libc->data_end <= libc->data_start)
        return;
    out->state = HEAP_INCONSISTENT;
    struct heap_walk w = {.m = m,
                          .out = out,
                          .visitor = visitor,
                          .deadline_ns = monotonic_ns() + LIMIT_NS,
                          .mangled = heap_before_is_mangled(m)};
    size_t size = (size_t)(libc->data_end - libc->data_start);
    uint64_t *words = xmalloc(size);
    w.buffer = xmalloc(BUFFER);
    if (get(&w, libc->data_start, words, size) &&
        count_all(&w, words, size / sizeof *words, libc->data_start))
        out->state = HEAP_COUNTED;
    free(words);
    free(w.buffer);
    if (out->state != HEAP_COUNTED)
        out->blocks = out->bytes = 0;
}
