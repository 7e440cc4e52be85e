/*
 * massif.out: the heap at some moments (snapshots), and for some of them by stack.
 *
 * It has bytes, not blocks, and only what was live. An interval is the time between two snapshots.
 * For a snapshot without a tree only the sum is known: all of it is charged to a frame that says
 * so, and what other stacks had then is not known. Massif sums up small stacks (--threshold) under
 * their caller, in a frame of its own. Times are instructions unless massif ran with
 * --time-unit=ms.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/figures.h"
#include "import/valgrind_frame.h"

struct snapshot {
    uint64_t number, time, heap_bytes, extra_bytes;
    bool peak;
};

/* The call to which more deeply indented lines belong. */
struct level {
    uint32_t run;
    uint64_t left;  /* how many calls into it are still to come */
    uint64_t bytes; /* its bytes that no line below has had so far */
    bool below;     /* it is a sum of small stacks */
};

struct reader {
    struct import *m;
    struct figures figures;
    VEC(uint64_t) now;   /* live bytes by site, at the last snapshot */
    VEC(uint64_t) next;  /* the same at the snapshot that is being read */
    VEC(uint32_t) named; /* sites in `next` */
    VEC(struct level) levels;
    uint32_t no_stacks;
    struct snapshot s;
    uint64_t highest, count;
    bool has_peak, milliseconds;
};

bool massif_is(const char *bytes, size_t size)
{
    return (size > 5 && text_begins(bytes, "desc:") && strstr(bytes, "\ntime_unit:")) ||
           strstr(bytes, "\nmem_heap_B=");
}

static void put(struct reader *r, uint32_t site, uint64_t bytes)
{
    while (r->next.count <= site)
        *vec_push(&r->next) = 0, *vec_push(&r->now) = 0;
    if (!r->next.items[site])
        *vec_push(&r->named) = site;
    r->next.items[site] += bytes;
}

/* The frame of a line, and whether it is a sum of small stacks. */
static uint32_t run_of(struct reader *r, char *text, bool *below)
{
    uint64_t address;
    *below = strstr(text, "below massif's threshold") != NULL;
    if (*below)
        return stacks_frame(&r->m->stacks,
                            &(struct imported_frame){.function = "[below massif's threshold]"});
    const struct imported_frame f = valgrind_frame(text, &address);
    return stacks_frame(&r->m->stacks, &f);
}

/* The lines of a tree lead from the allocation outwards: a leaf's stack consists of all levels from
 * the last. */
static void end_stack(struct reader *r, uint64_t bytes)
{
    uint32_t node = 0;
    for (size_t i = r->levels.count; i-- > 1;) /* the first is "(heap allocation functions)" */
        node = stacks_node(&r->m->stacks, node, r->levels.items[i].run);
    if (r->levels.count == 1)
        node =
            stacks_node(&r->m->stacks, 0, stacks_frame(&r->m->stacks, &(struct imported_frame){0}));
    put(r, figures_site(&r->figures, node, 0, DOMAIN_HEAP), bytes);
}

/* Parses "n3: 1234 0x1234: f (a.c:3)"; false: damage. */
static bool tree_line(struct reader *r, char *line)
{
    const char *at = line + strspn(line, " ");
    uint64_t calls, bytes;
    struct level l = {0};
    if (*at++ != 'n' || !import_number(&at, &calls) || !text_begins(at, ": "))
        return false;
    at += 2;
    if (!import_number(&at, &bytes) || *at++ != ' ' || r->levels.count >= IMPORT_DEPTH)
        return false;
    l.run = run_of(r, line + (at - line), &l.below);
    if (r->levels.count) {
        struct level *up = vec_last(&r->levels);
        if (bytes > up->bytes)
            return false;
        up->bytes -= bytes;
        up->left--;
    }
    l.left = calls;
    l.bytes = bytes;
    *vec_push(&r->levels) = l;
    if (!calls)
        end_stack(r, bytes);
    while (r->levels.count && !vec_last(&r->levels)->left) {
        if (vec_last(&r->levels)->bytes && calls) /* rounding, or an unknown caller */
            end_stack(r, vec_last(&r->levels)->bytes);
        r->levels.count--;
        calls = 1;
    }
    return true;
}

/* Reads all lines of a tree, beginning with its root. */
static int take_tree(struct reader *r, struct err *err)
{
    char *line;
    int code;
    do {
        code = input_line(r->m->in, &line, err);
        if (code == 0)
            return err_set(err, -EBADMSG, "%s ends in the middle of a snapshot", r->m->in->name);
        if (code < 0)
            return code;
        if (!tree_line(r, line))
            return import_bad_line(r->m, "this is no line of a massif tree", err);
        code = import_check(r->m, figures_memory(&r->figures) + r->levels.count * 32, err);
    } while (!code && r->levels.count);
    return code;
}

static void add_row(struct reader *r, uint32_t site)
{
    uint64_t before = r->now.items[site], now = r->next.items[site];
    struct row row = {.site = site};
    if (now > before)
        row.columns[COL_BYTES] = row.columns[COL_USABLE] = now - before;
    else
        row.columns[COL_FREED] = row.columns[COL_USABLE_FREED] = before - now;
    if (now != before)
        *vec_push(&r->m->profile->rows) = row;
    struct site *s = &r->m->profile->sites.items[site];
    if (r->s.peak) {
        s->at_peak_bytes = s->at_peak_usable = now;
    }
    r->now.items[site] = now;
    r->next.items[site] = 0;
}

static void end_snapshot(struct reader *r)
{
    struct profile *p = r->m->profile;
    uint64_t scale = r->milliseconds ? 1000000 : 1;
    uint64_t end = r->s.time > UINT64_MAX / scale ? UINT64_MAX : r->s.time * scale;
    if (p->intervals.count && end < vec_last(&p->intervals)->end_ns)
        end = vec_last(&p->intervals)->end_ns;
    struct interval v = {.end_ns = end, .peak_bytes = r->s.heap_bytes, .first_row = p->rows.count};
    if (r->s.peak)
        for (size_t i = 0; i < p->sites.count; i++)
            p->sites.items[i].at_peak_bytes = p->sites.items[i].at_peak_usable = 0;
    while (r->now.count < p->sites.count)
        *vec_push(&r->next) = 0, *vec_push(&r->now) = 0;
    for (uint32_t i = 0; i < p->sites.count; i++)
        if (r->now.items[i] || r->next.items[i])
            add_row(r, i);
    r->named.count = 0;
    v.row_count = p->rows.count - v.first_row;
    *vec_push(&p->intervals) = v;
    if (r->s.peak) {
        p->peak_bytes = r->s.heap_bytes;
        p->peak_time_ns = end;
        r->has_peak = true;
    }
    r->highest = r->s.heap_bytes > r->highest ? r->s.heap_bytes : r->highest;
    p->duration_ns = end;
    r->count++;
}

static int take_snapshot(struct reader *r, const char *tree, struct err *err)
{
    int code = 0;
    r->s.peak = strcmp(tree, "peak") == 0;
    if (strcmp(tree, "empty") == 0)
        put(r, r->no_stacks, r->s.heap_bytes);
    else
        code = take_tree(r, err);
    uint64_t known = 0;
    for (size_t i = 0; i < r->named.count; i++)
        known += r->next.items[r->named.items[i]];
    if (!code && known < r->s.heap_bytes)
        put(r, r->no_stacks, r->s.heap_bytes - known);
    if (!code)
        end_snapshot(r);
    return code ? code
                : import_check(r->m,
                               figures_memory(&r->figures) +
                                   r->m->profile->rows.count * sizeof(struct row),
                               err);
}

static int take_line(struct reader *r, char *line, struct err *err)
{
    static const struct {
        const char *key;
        size_t offset;
    } numbers[] = {{"snapshot=", offsetof(struct snapshot, number)},
                   {"time=", offsetof(struct snapshot, time)},
                   {"mem_heap_B=", offsetof(struct snapshot, heap_bytes)},
                   {"mem_heap_extra_B=", offsetof(struct snapshot, extra_bytes)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t size = strlen(numbers[i].key);
        const char *at = line + size;
        if (strncmp(line, numbers[i].key, size) == 0)
            return import_number(&at, (uint64_t *)(void *)((char *)&r->s + numbers[i].offset))
                       ? 0
                       : import_bad_line(r->m, "a number is missing or too large", err);
    }
    if (text_begins(line, "heap_tree="))
        return take_snapshot(r, line + 10, err);
    if (text_begins(line, "cmd: ") && !r->m->profile->command.count)
        import_command(r->m, line + 5);
    else if (text_begins(line, "time_unit: "))
        r->milliseconds = strcmp(line + 11, "ms") == 0;
    else if (line[0] && line[0] != '#' && !text_begins(line, "desc:") &&
             !text_begins(line, "cmd:") && !text_begins(line, "mem_stacks_B="))
        return import_bad_line(r->m, "this is no line of a massif file", err);
    return 0;
}

/* If massif has marked no peak, uses the highest snapshot without stacks. */
static void find_peak(struct reader *r)
{
    struct profile *p = r->m->profile;
    for (size_t i = 0; i < p->intervals.count && !r->has_peak; i++)
        if (p->intervals.items[i].peak_bytes == r->highest) {
            p->peak_bytes = r->highest;
            p->peak_time_ns = p->intervals.items[i].end_ns;
            r->has_peak = true;
            p->sites.items[r->no_stacks].at_peak_bytes = r->highest;
            p->sites.items[r->no_stacks].at_peak_usable = r->highest;
        }
    if (r->highest > p->peak_bytes)
        *vec_push(&p->notes) =
            xasprintf("a snapshot without stacks has %llu bytes more than massif's peak snapshot "
                      "(its --peak-inaccuracy)",
                      (unsigned long long)(r->highest - p->peak_bytes));
}

static void finish(struct reader *r)
{
    struct profile *p = r->m->profile;
    struct import_live *live = xcalloc(p->sites.count + 1, sizeof *live);
    find_peak(r);
    for (size_t i = 0; i < p->sites.count; i++)
        live[i].bytes = r->now.items[i];
    import_scan(r->m, live, p->sites.count);
    free(live);
    if (!r->milliseconds)
        p->imported.unknown |= UNKNOWN_TIME | UNKNOWN_PEAK_TIME;
    if (!p->command.count)
        p->imported.unknown |= UNKNOWN_COMMAND;
}

int massif_import(struct import *m, struct err *err)
{
    struct reader r = {.m = m};
    char *line;
    int code;
    import_from(m,
                UNKNOWN_TOTALS | UNKNOWN_COUNTS | UNKNOWN_THREADS | UNKNOWN_TEMPORARY |
                    UNKNOWN_REALLOCATIONS | UNKNOWN_USABLE | UNKNOWN_OWN_PEAK | UNKNOWN_LARGEST |
                    UNKNOWN_PROCESS | UNKNOWN_LOSSES | UNKNOWN_MAPPED,
                "massif");
    figures_init(&r.figures, m);
    r.figures.no_rows = true;
    import_no_threads(m);
    r.no_stacks = figures_site(
        &r.figures,
        stacks_node(
            &m->stacks, 0,
            stacks_frame(&m->stacks,
                         &(struct imported_frame){.function = "[snapshot without stacks]"})),
        0, DOMAIN_HEAP);
    while ((code = input_line(m->in, &line, err)) > 0)
        if ((code = take_line(&r, line, err)))
            break;
    if (!code && !r.count)
        code = err_set(err, -ENODATA, "%s has no snapshots", m->in->name);
    if (!code)
        finish(&r);
    figures_release(&r.figures);
    vec_release(&r.now);
    vec_release(&r.next);
    vec_release(&r.named);
    vec_release(&r.levels);
    return code;
}
