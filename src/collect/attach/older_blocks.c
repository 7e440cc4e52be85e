#include "collect/attach/older_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "collect/attach/heap_before.h"
#include "collect/attach/remote_module.h"
#include "collect/proc/stop_threads.h"

#define TLS_PAGE  UINT64_C(4096)
#define TLS_PAGES 16 /* pages of a thread's storage that are searched for libc's part */
#define BINS      64

/* glibc's tcache_perthread_struct. */
struct tcache {
    uint16_t counts[BINS];
    uint64_t first[BINS];
};
#define TCACHE_CHUNK (sizeof(struct tcache) + 16)
#define BIN_CHUNK(i) (((uint64_t)(i) + 2) * 16)
#define CHUNK_OF(b)  ((b).end - (b).start + OLDER_BLOCK_REST)

struct search {
    struct remote_modules *modules;
    const struct stopped_threads *threads;
    struct older_blocks *used;
    VEC(uint64_t) unused; /* addresses of those that are free */
    bool mangled;
};

static void add_used(void *context, uint64_t block, uint64_t bytes)
{
    struct search *s = context;
    *vec_push(&s->used->items) = (struct address_range){block, block + bytes - OLDER_BLOCK_REST};
}

static void add_unused(void *context, uint64_t block)
{
    struct search *s = context;
    *vec_push(&s->unused) = block;
}

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct address_range *)a)->start;
    uint64_t y = ((const struct address_range *)b)->start;
    return x < y ? -1 : x > y;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Is there a block in use at this address, in a chunk of this size? */
static bool is_block(const struct search *s, uint64_t address, uint64_t chunk)
{
    struct address_range key = {.start = address};
    const struct address_range *found =
        bsearch(&key, s->used->items.items, s->used->items.count, sizeof key, by_start);
    return found && CHUNK_OF(*found) == chunk;
}

static bool get(const struct search *s, uint64_t address, void *out, size_t size)
{
    return remote_memory_read(&s->modules->memory, address, out, size) == (ssize_t)size;
}

/* Adds the blocks that a tcache keeps to `unused`; false: this is no tcache, or it is being
 * changed. */
static bool take_tcache(struct search *s, uint64_t address)
{
    struct tcache t;
    if (!is_block(s, address, TCACHE_CHUNK) || !get(s, address, &t, sizeof t))
        return false;
    for (unsigned i = 0; i < BINS; i++) {
        uint64_t each = t.first[i], next;
        for (unsigned n = t.counts[i]; n > 0; n--) {
            if (!is_block(s, each, BIN_CHUNK(i)) || !get(s, each, &next, sizeof next))
                return false;
            *vec_push(&s->unused) = each;
            each = next ^ (s->mangled ? each >> 12 : 0);
        }
        if (each)
            return false;
    }
    return true;
}

/* Adds the blocks of all tcaches if they are at this distance below the thread pointers. At least
 * one must hold a block: otherwise nothing shows that these are tcaches. */
static bool take_all(struct search *s, uint64_t distance)
{
    size_t before = s->unused.count;
    bool good = true;
    for (size_t i = 0; good && i < s->threads->threads.count; i++) {
        uint64_t pointer = s->threads->threads.items[i].pointer, tcache;
        good = pointer && get(s, pointer - distance, &tcache, sizeof tcache) &&
               (!tcache || take_tcache(s, tcache));
    }
    if (!good)
        s->unused.count = before;
    return good && s->unused.count > before;
}

/* Tries each word of one thread's storage, which ends at its thread pointer. */
static bool find_tcaches(struct search *s, uint64_t pointer)
{
    uint64_t words[TLS_PAGE / 8];
    for (uint64_t page = 1; page <= TLS_PAGES; page++) {
        if (!get(s, pointer - page * TLS_PAGE, words, sizeof words))
            return false;
        for (unsigned i = 0; i < TLS_PAGE / 8; i++)
            if (is_block(s, words[i], TCACHE_CHUNK) && take_all(s, page * TLS_PAGE - i * 8))
                return true;
    }
    return false;
}

static void drop_unused(struct search *s)
{
    size_t kept = 0, next = 0;
    struct address_range *all = s->used->items.items;
    qsort(s->unused.items, s->unused.count, sizeof *s->unused.items, by_value);
    for (size_t i = 0; i < s->used->items.count; i++) {
        while (next < s->unused.count && s->unused.items[next] < all[i].start)
            next++;
        if (next == s->unused.count || s->unused.items[next] != all[i].start)
            all[kept++] = all[i];
    }
    s->used->items.count = kept;
}

bool older_blocks_find(struct remote_modules *m, const struct stopped_threads *threads,
                       struct older_blocks *out)
{
    struct search s = {
        .modules = m, .threads = threads, .used = out, .mangled = heap_before_is_mangled(m)};
    const struct heap_visitor visitor = {&s, add_used, add_unused};
    struct heap_before heap;
    heap_before_count(m, &visitor, &heap);
    bool known = heap.state == HEAP_COUNTED && out->items.count;
    if (known)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_start);
    size_t fast = s.unused.count;
    for (size_t i = 0; known && s.unused.count == fast && i < threads->threads.count; i++)
        if (threads->threads.items[i].pointer)
            find_tcaches(&s, threads->threads.items[i].pointer);
    known = known && s.unused.count > fast;
    if (known)
        drop_unused(&s);
    else
        vec_release(&out->items);
    vec_release(&s.unused);
    return known;
}
