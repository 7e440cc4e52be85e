#include "model/mark_scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define END        ".end"
#define END_SIZE   (sizeof END - 1)
#define LABEL_SIZE 63 /* bytes of a label */

/* The length of the name in "NAME.end"; 0: it is not the label of an end. */
static size_t stem_of_end(const char *name)
{
    size_t size = strlen(name);
    return size > END_SIZE && strcmp(name + size - END_SIZE, END) == 0 ? size - END_SIZE : 0;
}

/* The length of the name that its end will have; 0: it is itself the end of a long name. */
static size_t stem_of_begin(const char *name)
{
    size_t most = LABEL_SIZE - END_SIZE, size = strnlen(name, most);
    while (size > most - 3 && ((unsigned char)name[size] & 0xc0) == 0x80)
        size--; /* no half of a character */
    return name[size] && stem_of_end(name) == size ? 0 : size;
}

bool mark_scopes_exist(const struct profile *p)
{
    for (size_t i = 0; i < p->marks.count; i++)
        if (stem_of_end(p->marks.items[i].name))
            return true;
    return false;
}

/* The highest peak of the intervals from `first` to the last one added. It is a stack of those that
 * no later one exceeds, the highest first. */
struct peaks {
    const struct profile *profile;
    size_t added;
    VEC(size_t) stack;
};

static uint64_t peak_of(const struct peaks *k, size_t interval)
{
    return k->profile->intervals.items[interval].peak_bytes;
}

static void peaks_add(struct peaks *k, size_t end)
{
    for (; k->added < end && k->added < k->profile->intervals.count; k->added++) {
        while (k->stack.count && peak_of(k, *vec_last(&k->stack)) <= peak_of(k, k->added))
            k->stack.count--;
        *vec_push(&k->stack) = k->added;
    }
}

static uint64_t peaks_from(const struct peaks *k, size_t first)
{
    size_t at;
    BISECT(at, k->stack.count, k->stack.items[at] < first);
    return at < k->stack.count ? peak_of(k, k->stack.items[at]) : 0;
}

/* How the process changed between two marks. */
struct growth {
    uint64_t time_ns, live_bytes, live_blocks, rss_bytes, allocations;
};

static struct growth growth_between(const struct stamp *a, const struct stamp *b)
{
    return (struct growth){.time_ns = b->time_ns > a->time_ns ? b->time_ns - a->time_ns : 0,
                           .live_bytes = b->live_bytes - a->live_bytes,
                           .live_blocks = b->live_blocks - a->live_blocks,
                           .rss_bytes = b->rss_bytes - a->rss_bytes,
                           .allocations = b->allocations - a->allocations};
}

static void growth_add(struct growth *sum, const struct growth *g)
{
    sum->time_ns += g->time_ns;
    sum->live_bytes += g->live_bytes;
    sum->live_blocks += g->live_blocks;
    sum->rss_bytes += g->rss_bytes;
    sum->allocations += g->allocations;
}

struct opened {
    uint32_t outer;        /* the mark of the enclosing begin; MAP_NONE: none */
    struct growth counted; /* sum over inner scopes that have ended: they are already counted */
};

struct pairing {
    /* Names of scopes; the number of a name is its index in scopes.items + 1. */
    struct strpool names;
    struct map innermost;  /* (scope, thread) -> the mark of its last begin without an end */
    struct opened *opened; /* indexed by mark */
    struct peaks peaks;
};

static void begin(struct pairing *x, struct mark_scope *s, uint32_t *innermost, uint32_t mark,
                  const struct profile *p)
{
    s->name = s->entered++ ? s->name : p->marks.items[mark].name;
    s->open++;
    x->opened[mark].outer = *innermost;
    *innermost = mark;
}

/* Each scope is added when it ends, not only the outermost: an outermost one that never ends would
 * hide the inner ones. */
static void add_uncounted(struct mark_scope *s, const struct growth *own,
                          const struct growth *counted)
{
    s->time_ns += own->time_ns > counted->time_ns ? own->time_ns - counted->time_ns : 0;
    s->live_bytes = (int64_t)((uint64_t)s->live_bytes + own->live_bytes - counted->live_bytes);
    s->live_blocks = (int64_t)((uint64_t)s->live_blocks + own->live_blocks - counted->live_blocks);
    s->rss_bytes = (int64_t)((uint64_t)s->rss_bytes + own->rss_bytes - counted->rss_bytes);
    s->allocations = (int64_t)((uint64_t)s->allocations + own->allocations - counted->allocations);
}

static void end(struct pairing *x, struct mark_scope *s, uint32_t *innermost, uint32_t mark,
                const struct profile *p)
{
    if (*innermost == MAP_NONE)
        return; /* it began before the recording, or in another thread */
    const struct mark *from = &p->marks.items[*innermost], *to = &p->marks.items[mark];
    const struct stamp *a = &from->stamp, *b = &to->stamp;
    const struct opened *left = &x->opened[*innermost];
    struct growth own = growth_between(a, b);
    *innermost = left->outer;
    s->open--;
    int64_t live = (int64_t)own.live_bytes;
    s->most_bytes = s->entered - s->open == 1 || live > s->most_bytes ? live : s->most_bytes;
    add_uncounted(s, &own, &left->counted);
    if (left->outer != MAP_NONE)
        growth_add(&x->opened[left->outer].counted, &own);
    peaks_add(&x->peaks, to->intervals);
    uint64_t peak = peaks_from(&x->peaks, from->intervals);
    if (peak > a->live_bytes && peak - a->live_bytes > s->peak_bytes)
        s->peak_bytes = peak - a->live_bytes;
}

static void pair_marks(struct mark_scopes *s, struct pairing *x)
{
    const struct profile *p = s->profile;
    strpool_add(&x->names, "");
    for (size_t i = 0; i < p->marks.count; i++) {
        const char *name = p->marks.items[i].name;
        uint32_t number = strpool_add_n(&x->names, name, stem_of_end(name));
        while (s->items.count < number)
            *vec_push(&s->items) = (struct mark_scope){0};
    }
    uint32_t scopes = (uint32_t)s->items.count;
    for (uint32_t i = 0; i < p->marks.count; i++) {
        const struct mark *m = &p->marks.items[i];
        uint32_t stem = strpool_add_n(&x->names, m->name, stem_of_begin(m->name));
        bool begins = stem && stem <= scopes;
        uint32_t number = begins ? stem : strpool_add_n(&x->names, m->name, stem_of_end(m->name));
        if (!number)
            continue;
        uint32_t *innermost = map_at(&x->innermost, (uint64_t)number << 32 | m->thread);
        (begins ? begin : end)(x, &s->items.items[number - 1], innermost, i, p);
    }
}

static int by_growth(const void *a, const void *b)
{
    const struct mark_scope *x = a, *y = b;
    if (x->live_bytes != y->live_bytes)
        return x->live_bytes > y->live_bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

int mark_scopes_init(struct mark_scopes *s, const struct recording *r, const struct profile *p,
                     const char *label, struct err *err)
{
    struct pairing x = {.opened = xcalloc(p->marks.count + 1, sizeof *x.opened),
                        .peaks = {.profile = p}};
    size_t kept = 0;
    *s = (struct mark_scopes){.recording = r, .profile = p};
    pair_marks(s, &x);
    for (size_t i = 0; i < s->items.count; i++)
        if (s->items.items[i].entered && (!label || strcmp(s->items.items[i].name, label) == 0))
            s->items.items[kept++] = s->items.items[i];
    s->items.count = kept;
    if (kept)
        qsort(s->items.items, kept, sizeof *s->items.items, by_growth);
    strpool_release(&x.names);
    map_release(&x.innermost);
    vec_release(&x.peaks.stack);
    free(x.opened);
    if (!label || kept)
        return 0;
    mark_scopes_release(s);
    return err_set(err, -ENOENT, "no scope is called '%s'; without --label all are shown", label);
}

void mark_scopes_release(struct mark_scopes *s)
{
    vec_release(&s->items);
}
