#include "model/combined_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"

#define EPOCHS     32768u /* as many as fit into an address beside the bit for Python */
#define POOLS_MOST 4095u
#define NOTES_MOST 64 /* different notes */

/* A process while it is added. */
struct part {
    const struct profile *from;
    uint64_t offset_ns;
    uint32_t epoch; /* its first epoch in the combined profile */
    /* The epochs that it uses, in order; in the combined profile they follow each other. */
    VEC(uint16_t) epochs;
    uint32_t node, thread, site; /* where its own begin in the combined profile */
    size_t row;
    uint32_t *interval; /* its intervals -> combined intervals; one more, for the end */
};

struct combination {
    struct profile *into;
    struct part *parts;
    size_t count;
    struct map pools; /* name of a pool -> its number */
    uint64_t python;  /* number of Python frames so far */
};

/* --- code ------------------------------------------------------------------------------------- */

/* Few epochs are used, but not the lowest: those of samples are far from those of the heap. */
static void find_epochs(struct part *part)
{
    const struct profile *p = part->from;
    bool *used = xcalloc(EPOCHS, sizeof *used);
    used[0] = true; /* addresses without a module */
    for (size_t i = 0; i < p->nodes.count; i++)
        if (!NODE_IS_PYTHON(p->nodes.items[i].address))
            used[NODE_EPOCH(p->nodes.items[i].address)] = true;
    for (size_t i = 0; i < p->modules.count; i++)
        if (p->modules.items[i].epoch < EPOCHS)
            used[p->modules.items[i].epoch] = true;
    for (uint32_t i = 0; i < EPOCHS; i++)
        if (used[i])
            *vec_push(&part->epochs) = (uint16_t)i;
    free(used);
}

static uint32_t moved_epoch(const struct part *part, uint32_t epoch)
{
    size_t at;
    BISECT(at, part->epochs.count, part->epochs.items[at] < epoch);
    return part->epoch + (uint32_t)at;
}

static int begin_parts(struct combination *w, const struct recording *r, struct err *err)
{
    uint64_t first = UINT64_MAX, epochs = 0, nodes = 1, threads = 0, sites = 0;
    for (size_t i = 0; i < w->count; i++)
        if (r->profiles.items[i].start_unix_ns < first)
            first = r->profiles.items[i].start_unix_ns;
    for (size_t i = 0; i < w->count; i++) {
        struct part *part = &w->parts[i];
        const struct profile *p = part->from = &r->profiles.items[i];
        find_epochs(part);
        part->offset_ns = p->start_unix_ns - first;
        part->epoch = (uint32_t)epochs;
        part->node = (uint32_t)nodes - 1; /* all share node 0, and the first node is 1 */
        part->thread = (uint32_t)threads;
        part->site = (uint32_t)sites;
        epochs += part->epochs.count;
        nodes += p->nodes.count ? p->nodes.count - 1 : 0;
        threads += p->threads.count;
        sites += p->sites.count;
        if (epochs > EPOCHS || nodes > UINT32_MAX / 2 || threads > UINT32_MAX / 2 ||
            sites > UINT32_MAX / 2)
            return err_set(err, -E2BIG,
                           "%zu processes are too many to be put together; --process PID picks one",
                           w->count);
    }
    return 0;
}

static uint32_t moved_node(const struct part *part, uint32_t node)
{
    return node && node < part->from->nodes.count ? part->node + node : 0;
}

static void add_run(struct profile *into, uint64_t address, const struct profile *p, uint32_t run)
{
    *map_at(&into->symbols, address) = (uint32_t)into->frame_runs.count;
    *vec_push(&into->frame_runs) = (uint32_t)into->frames.count;
    for (uint32_t f = p->frame_runs.items[run]; f < p->frame_runs.items[run + 1]; f++)
        *vec_push(&into->frames) = p->frames.items[f];
}

/* Pools are identified by name. */
static uint64_t moved_pool(struct combination *w, const struct profile *p, uint32_t run,
                           uint64_t address)
{
    uint64_t name =
        run == MAP_NONE ? address << 32 : p->frames.items[p->frame_runs.items[run]].function;
    uint32_t *number = map_at(&w->pools, name);
    if (*number == MAP_NONE)
        *number = w->pools.count < POOLS_MOST ? (uint32_t)w->pools.count : POOLS_MOST;
    return NODE_POOL + *number;
}

/* Translates an address, so that it means the same in the combined profile, and adds its
 * symbols. */
static uint64_t moved_address(struct combination *w, const struct part *part, struct map *seen,
                              uint64_t address)
{
    const struct profile *p = part->from;
    uint32_t run = map_get(&p->symbols, address);
    uint64_t moved = address;
    if (run != MAP_NONE && (run + 1 >= p->frame_runs.count ||
                            p->frame_runs.items[run] >= p->frame_runs.items[run + 1] ||
                            p->frame_runs.items[run + 1] > p->frames.count))
        run = MAP_NONE;
    if (NODE_IS_PYTHON(address)) { /* only its symbols explain it */
        uint32_t *number = map_at(seen, address);
        if (*number == MAP_NONE)
            *number = (uint32_t)w->python++;
        moved = NODE_PYTHON | *number;
    } else if (NODE_IS_POOL(address)) {
        moved = moved_pool(w, p, run, address);
    } else if (NODE_EPOCH(address) || NODE_PC(address) >= NODE_POOL + 4096) {
        moved = NODE_PC(address) | (uint64_t)moved_epoch(part, NODE_EPOCH(address)) << 48;
    }
    if (run != MAP_NONE && map_get(&w->into->symbols, moved) == MAP_NONE)
        add_run(w->into, moved, p, run);
    return moved;
}

static void add_code(struct combination *w, const struct part *part)
{
    const struct profile *p = part->from;
    struct map seen = {0};
    /* An address without a module must not fall into a module of an earlier process. */
    *vec_push(&w->into->modules) =
        (struct module){.end = UINT64_C(1) << 48, .epoch = part->epoch, .path = xstrdup("")};
    for (size_t i = 0; i < p->modules.count && p->modules.items[i].epoch < EPOCHS; i++) {
        struct module *m = vec_push(&w->into->modules);
        *m = p->modules.items[i];
        m->epoch = moved_epoch(part, m->epoch);
        m->path = xstrdup(m->path ? m->path : "");
    }
    for (size_t i = 1; i < p->nodes.count; i++) {
        const struct node *n = &p->nodes.items[i];
        *vec_push(&w->into->nodes) =
            (struct node){.parent = moved_node(part, n->parent),
                          .address = moved_address(w, part, &seen, n->address)};
    }
    map_release(&seen);
}

/* Adds the rows of a part, whose sites have other numbers in the combined profile. */
#define ADD_ROWS(rows)                                                                             \
    for (size_t i = 0; i < p->rows.count; i++) {                                                   \
        *vec_push(&into->rows) = p->rows.items[i];                                                 \
        vec_last(&into->rows)->site += part->site;                                                 \
    }

/* --- sites and time --------------------------------------------------------------------------- */

static void add_sites(struct combination *w, const struct part *part)
{
    const struct profile *p = part->from;
    struct profile *into = w->into;
    for (size_t i = 0; i < p->threads.count; i++) {
        struct thread t = p->threads.items[i];
        t.name = xstrdup(t.name ? t.name : "");
        t.start_ns += part->offset_ns;
        t.end_ns += t.end_ns ? part->offset_ns : 0;
        *vec_push(&into->threads) = t;
    }
    for (size_t i = 0; i < p->sites.count; i++) {
        struct site s = p->sites.items[i];
        s.node = moved_node(part, s.node);
        s.thread += part->thread;
        s.at_peak_bytes = s.at_peak_blocks = s.at_peak_usable = 0;
        *vec_push(&into->sites) = s;
    }
    ADD_ROWS(sizes);
    ADD_ROWS(lifetimes);
    ADD_ROWS(freed_readings);
    ADD_ROWS(chains);
}

/* The end of an interval of a part, or of the part itself (`of` beyond its intervals). */
struct end {
    uint64_t time_ns;
    uint32_t part, of;
};

static int earlier_end(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return (x->of > y->of) - (x->of < y->of);
}

static void add_interval(struct combination *w, const struct end *e)
{
    struct part *part = &w->parts[e->part];
    const struct interval *v = &part->from->intervals.items[e->of];
    struct interval moved = *v;
    moved.end_ns = e->time_ns;
    moved.first_row = w->into->rows.count;
    for (size_t i = 0; i < v->row_count; i++) {
        struct row row = part->from->rows.items[v->first_row + i];
        row.site += part->site;
        *vec_push(&w->into->rows) = row;
    }
    part->interval[e->of] = (uint32_t)w->into->intervals.count;
    *vec_push(&w->into->intervals) = moved;
}

/*
 * Finds the peak. `live` is what each part has at the end of its last interval; 0 once it has
 * ended. The sum changes only at ends of intervals. But for each interval of a part, its own
 * highest total is known, and at the highest of all also what its sites had.
 */
struct peak {
    uint64_t *live;
    uint64_t sum, highest;
    size_t at; /* how many ends come before the highest one */
    bool own;  /* the highest is at the peak of the part that this interval belongs to */
    uint64_t time_ns;
};

static uint64_t live_change(const struct part *part, const struct interval *v)
{
    uint64_t change = 0;
    for (size_t i = v->first_row; i < v->first_row + v->row_count; i++) {
        const struct row *row = &part->from->rows.items[i];
        if (domain_is_live(part->from->sites.items[row->site].domain))
            change += row->columns[COL_BYTES] - row->columns[COL_FREED];
    }
    return change;
}

static void note_sum(struct peak *k, uint64_t sum, size_t at, bool own, uint64_t time_ns)
{
    if (sum > k->highest)
        *k = (struct peak){.live = k->live,
                           .sum = k->sum,
                           .highest = sum,
                           .at = at,
                           .own = own,
                           .time_ns = time_ns};
}

static void follow(struct combination *w, struct peak *k, const struct end *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &w->parts[ends[i].part];
        const struct profile *p = part->from;
        uint64_t *live = &k->live[ends[i].part];
        if (ends[i].of >= p->intervals.count) { /* the process has ended, with all its memory */
            k->sum -= *live;
            *live = 0;
            continue;
        }
        const struct interval *v = &p->intervals.items[ends[i].of];
        uint64_t began = ends[i].of ? p->intervals.items[ends[i].of - 1].end_ns : 0, before = *live;
        uint64_t others = k->sum - before, change = live_change(part, v);
        *live += change;
        k->sum += change;
        bool last = ends[i].of + 1 == p->intervals.count;
        bool own = p->peak_bytes && (!ends[i].of || p->peak_time_ns > began) &&
                   (p->peak_time_ns <= v->end_ns || last);
        /* The peak of this part inside the interval, plus what the others had at its end. */
        if (own)
            note_sum(k, others + p->peak_bytes, i, true, part->offset_ns + p->peak_time_ns);
        note_sum(k, k->sum, i, false, ends[i].time_ns);
        w->into->intervals.items[part->interval[ends[i].of]].peak_bytes =
            others + (v->peak_bytes > *live ? v->peak_bytes : *live);
    }
}

/* Sets what each site had at the peak. */
static void set_peak(struct combination *w, const struct peak *k, const struct end *ends)
{
    struct profile *into = w->into;
    bool *gone = xcalloc(w->count, sizeof *gone);
    for (size_t i = 0; i <= k->at; i++)
        gone[ends[i].part] = ends[i].of >= w->parts[ends[i].part].from->intervals.count;
    for (size_t i = 0; i <= k->at; i++) {
        const struct part *part = &w->parts[ends[i].part];
        if (gone[ends[i].part] || (k->own && ends[i].part == ends[k->at].part))
            continue;
        const struct interval *v = &part->from->intervals.items[ends[i].of];
        for (size_t r = v->first_row; r < v->first_row + v->row_count; r++) {
            const struct row *row = &part->from->rows.items[r];
            struct site *s = &into->sites.items[part->site + row->site];
            s->at_peak_bytes += row->columns[COL_BYTES] - row->columns[COL_FREED];
            s->at_peak_blocks += row->columns[COL_ALLOCS] - row->columns[COL_FREES];
            s->at_peak_usable += row->columns[COL_USABLE] - row->columns[COL_USABLE_FREED];
        }
    }
    if (k->own) {
        const struct part *part = &w->parts[ends[k->at].part];
        for (size_t i = 0; i < part->from->sites.count; i++) {
            const struct site *s = &part->from->sites.items[i];
            into->sites.items[part->site + i].at_peak_bytes = s->at_peak_bytes;
            into->sites.items[part->site + i].at_peak_blocks = s->at_peak_blocks;
            into->sites.items[part->site + i].at_peak_usable = s->at_peak_usable;
        }
    }
    for (size_t i = 0; i < into->sites.count; i++)
        if (domain_is_live(into->sites.items[i].domain))
            into->peak_blocks += into->sites.items[i].at_peak_blocks;
    into->peak_bytes = k->highest;
    into->peak_time_ns = k->time_ns;
    free(gone);
}

static void add_time(struct combination *w)
{
    VEC(struct end) ends = {0};
    for (size_t i = 0; i < w->count; i++) {
        struct part *part = &w->parts[i];
        const struct profile *p = part->from;
        part->interval = xcalloc(p->intervals.count + 1, sizeof *part->interval);
        uint64_t last = part->offset_ns + p->duration_ns;
        for (size_t k = 0; k < p->intervals.count; k++) {
            uint64_t time_ns = part->offset_ns + p->intervals.items[k].end_ns;
            *vec_push(&ends) =
                (struct end){.time_ns = time_ns, .part = (uint32_t)i, .of = (uint32_t)k};
            last = time_ns > last ? time_ns : last;
        }
        *vec_push(&ends) =
            (struct end){.time_ns = last, .part = (uint32_t)i, .of = (uint32_t)p->intervals.count};
        if (last > w->into->duration_ns)
            w->into->duration_ns = last;
    }
    qsort(ends.items, ends.count, sizeof *ends.items, earlier_end);
    for (size_t i = 0; i < ends.count; i++) {
        const struct part *part = &w->parts[ends.items[i].part];
        if (ends.items[i].of < part->from->intervals.count) {
            add_interval(w, &ends.items[i]);
            continue;
        }
        part->interval[ends.items[i].of] = (uint32_t)w->into->intervals.count;
        *vec_push(&w->into->process_ends) =
            (struct process_end){.intervals = w->into->intervals.count,
                                 .site = part->site,
                                 .site_count = (uint32_t)part->from->sites.count};
    }
    struct peak peak = {.live = xcalloc(w->count, sizeof *peak.live)};
    follow(w, &peak, ends.items, ends.count);
    if (peak.highest)
        set_peak(w, &peak, ends.items);
    free(peak.live);
    vec_release(&ends);
}

/* --- references to moments -------------------------------------------------------------------- */

/* The number of combined intervals before the same moment. */
static size_t moved_moment(const struct part *part, size_t intervals)
{
    size_t last = part->from->intervals.count;
    return intervals && last ? part->interval[(intervals < last ? intervals : last) - 1] + 1 : 0;
}

static int earlier_mark(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    if (x->stamp.time_ns != y->stamp.time_ns)
        return x->stamp.time_ns < y->stamp.time_ns ? -1 : 1;
    return (x->intervals > y->intervals) - (x->intervals < y->intervals);
}

static void add_marks(struct combination *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct part *part = &w->parts[i];
        for (size_t k = 0; k < part->from->marks.count; k++) {
            struct mark m = part->from->marks.items[k];
            m.thread += part->thread;
            m.intervals = moved_moment(part, m.intervals);
            m.stamp.time_ns += part->offset_ns;
            m.absent_known = false; /* it was counted for one process only */
            *vec_push(&w->into->marks) = m;
        }
    }
    if (w->into->marks.count)
        qsort(w->into->marks.items, w->into->marks.count, sizeof *w->into->marks.items,
              earlier_mark);
}

/* A part that was killed, or that called _exit, never began to end: its last state is used for that
 * as well. */
static const struct scan *scan_of(const struct profile *p, enum scan_kind kind)
{
    const struct scan *s = profile_scan(p, kind);
    return s || kind != SCAN_EXIT ? s : profile_scan(p, SCAN_END);
}

/* Joins the scans of one kind from all parts, at the end of the combined profile. */
static void add_scan(struct combination *w, enum scan_kind kind)
{
    struct profile *into = w->into;
    struct scan all = {.kind = kind,
                       .time_ns = into->duration_ns,
                       .intervals = into->intervals.count,
                       .residency = true,
                       .led = true,
                       .first_row = into->live.count};
    bool any = false;
    for (size_t i = 0; i < w->count; i++)
        any |= profile_scan(w->parts[i].from, kind) != NULL;
    for (size_t i = 0; i < w->count && any; i++) {
        const struct part *part = &w->parts[i];
        const struct scan *s = scan_of(part->from, kind);
        bool lost = false;
        for (size_t k = 0; s && k < s->row_count; k++) {
            struct live_row row = part->from->live.items[s->first_row + k];
            lost |= row.reach == REACH_LOST || row.reach == REACH_INDIRECT;
            row.site += part->site;
            size_t born = moved_moment(part, (size_t)row.interval + 1);
            row.interval = born ? (uint32_t)born - 1 : 0;
            row.first_ns += part->offset_ns;
            row.last_ns += part->offset_ns;
            *vec_push(&into->live) = row;
        }
        all.residency &= !s || s->residency || s->kind != kind;
        all.led &= !lost || s->led;
        all.held_ns += s && s->kind == kind ? s->held_ns : 0;
        if (s && s->unreachable && !all.unreachable)
            all.unreachable = xstrdup(s->unreachable);
    }
    all.row_count = into->live.count - all.first_row;
    if (any)
        *vec_push(&into->scans) = all;
}

/* --- the identity of the combined profile ----------------------------------------------------- */

/* A note that begins with "it" is about one process, which has to be named here. That a process
 * made no allocations says nothing about all of them: NULL. */
static char *note_for_all(const struct profile *p, const char *note)
{
    if (text_begins(note, "it made no allocations"))
        return NULL;
    if (!text_begins(note, "it "))
        return xstrdup(note);
    return xasprintf("process %" PRIu32 ", %s: %s", p->pid,
                     p->executable ? path_base(p->executable) : "", note);
}

static void add_notes(struct profile *into, const struct profile *p)
{
    for (size_t i = 0; i < p->notes.count && into->notes.count < NOTES_MOST; i++) {
        char *note =
            into->together > 1 ? note_for_all(p, p->notes.items[i]) : xstrdup(p->notes.items[i]);
        size_t k = 0;
        while (note && k < into->notes.count && strcmp(into->notes.items[k], note) != 0)
            k++;
        if (note && k == into->notes.count)
            *vec_push(&into->notes) = note;
        else
            free(note);
    }
}

static void describe(struct combination *w)
{
    struct profile *into = w->into;
    const struct profile *first = w->parts[0].from;
    into->pid = first->pid;
    into->ppid = first->ppid;
    into->start_unix_ns = first->start_unix_ns - w->parts[0].offset_ns;
    into->exit_code = first->exit_code;
    into->signal = first->signal;
    into->together = (uint32_t)w->count;
    into->complete = into->has_histograms = true;
    into->sampling = (struct sampling){.alone = true, .counted = true};
    for (size_t i = 0; i < first->command.count; i++)
        *vec_push(&into->command) = xstrdup(first->command.items[i]);
    into->executable = first->executable ? xstrdup(first->executable) : NULL;
    into->host = first->host ? xstrdup(first->host) : NULL;
    for (size_t i = 0; i < w->count; i++) {
        const struct profile *p = w->parts[i].from;
        struct sampling *s = &into->sampling;
        into->complete &= p->complete;
        into->waits += p->waits;
        if (p->sample_bytes > into->sample_bytes)
            /* The bound of each process's error bounds the whole. */
            into->sample_bytes = p->sample_bytes;
        into->imported.unknown |= p->imported.unknown;
        into->has_histograms &= p->has_histograms;
        for (int view = 0; view < GPU_VIEWS; view++)
            into->gpu[view].known |= p->gpu[view].known;
        if (p->sampling.cpu_period_ns)
            s->cpu_period_ns = p->sampling.cpu_period_ns;
        if (p->sampling.fault_period)
            s->fault_period = p->sampling.fault_period;
        s->wall |= p->sampling.wall;
        s->timer |= p->sampling.timer;
        if (p->sampling.kernel)
            s->kernel = p->sampling.kernel;
        s->alone &= p->sampling.alone;
        s->counted &= p->sampling.counted;
        s->lost += p->sampling.lost;
        s->user_ns += p->sampling.user_ns;
        s->system_ns += p->sampling.system_ns;
        s->minor_faults += p->sampling.minor_faults;
        s->major_faults += p->sampling.major_faults;
        add_notes(into, p);
    }
}

int combined_profile_make(struct recording *r, struct err *err)
{
    if (r->combined)
        return 0;
    if (!r->profiles.count)
        return err_set(err, -ENOENT, "the recording holds no process");
    struct combination w = {.count = r->profiles.count};
    w.parts = xcalloc(w.count, sizeof *w.parts);
    int code = begin_parts(&w, r, err);
    if (!code) {
        w.into = r->combined = xcalloc(1, sizeof *w.into);
        *vec_push(&w.into->nodes) = (struct node){0};
        for (size_t i = 0; i < w.count; i++) {
            add_code(&w, &w.parts[i]);
            add_sites(&w, &w.parts[i]);
        }
        *vec_push(&w.into->frame_runs) = (uint32_t)w.into->frames.count;
        add_time(&w);
        add_marks(&w);
        add_scan(&w, SCAN_EXIT);
        add_scan(&w, SCAN_END);
        describe(&w);
    }
    for (size_t i = 0; i < w.count; i++) {
        vec_release(&w.parts[i].epochs);
        free(w.parts[i].interval);
    }
    free(w.parts);
    map_release(&w.pools);
    return code;
}
