/*
 * A build or a test suite has hundreds of processes, few of which live at the same time. When one
 * ends, its figures are complete: they become the chunks that the file will hold, and its tables
 * are freed. Its names may not be known by then, and notes about it may come at the very end, so
 * these chunks are made later. Only the addresses that need names are kept for them.
 */
#include "collect/session/packing.h"

#include <pthread.h>
#include <stdlib.h>

#include "collect/counting/heap_peak.h"
#include "collect/sampling/samples.h"
#include "store/chunk.h"
#include "store/writer.h"

#define WORTH_A_THREAD 20000 /* nodes: fewer are named in a few milliseconds */

static void write_figures(struct target *t, unsigned parts, uint32_t number, struct strbuf *out)
{
    size_t n = t->timeline.slices.count;
    const struct strbuf **rows = xmalloc(n * sizeof *rows);
    size_t *counts = xmalloc(n * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        rows[i] = &t->timeline.slices.items[i].rows;
        counts[i] = t->timeline.slices.items[i].row_count;
    }
    struct ledger_sites sites = {&t->ledger, t->sampled.joined};
    struct packed_figures packed = {.rows = rows,
                                    .counts = counts,
                                    .site_at = ledger_site_at,
                                    .sites = &sites,
                                    .site_count = t->ledger.accounts.count};
    writer_parts(out, number, &t->profile, parts, &packed);
    ledger_release(&t->ledger);
    free(rows);
    free(counts);
}

void packing_count(struct target *t)
{
    struct packed *k = &t->packed;
    if (k->counted)
        return;
    k->counted = true;
    for (size_t i = 0; i < t->timeline.slices.count; i++) {
        const struct interval *v = &t->timeline.slices.items[i].interval;
        k->lost_events += v->lost_events;
        k->truncated_stacks += v->truncated_stacks;
        k->incomplete_stacks += v->incomplete_stacks;
    }
    for (size_t i = 0; i < t->ledger.accounts.count; i++) {
        const struct account *a = &t->ledger.accounts.items[i];
        if (a->domain != DOMAIN_CPU && a->domain != DOMAIN_FAULTS)
            continue;
        struct amount live = ledger_live(&t->ledger, a);
        if (a->domain == DOMAIN_CPU) {
            k->sampled.cpu_ns += live.bytes;
            k->sampled.cpu_samples += live.blocks;
            k->sampled.kernel_ns += samples_in_kernel(t, a) ? live.bytes : 0;
        } else {
            k->sampled.fault_bytes += live.bytes;
            k->sampled.faults += live.blocks;
        }
    }
}

/* What is needed to name the nodes of a process. */
struct filling {
    struct target *target;
    struct naming *naming;
    struct strpool *strings;
};

static void *fill_names(void *filling)
{
    const struct filling *f = filling;
    struct target *t = f->target;
    jit_names_read(&t->jit, &t->profile);
    naming_fill(f->naming, &t->profile, &t->python.codes, &t->jit, f->strings);
    return NULL;
}

/* `names`: are made at the same time, on another thread if they are many; NULL: they are not known
 * yet. */
static void make_figures(struct target *t, struct strpool *strings, struct filling *names)
{
    pthread_t filler;
    packing_count(t);
    target_finish_stacks(t);
    pools_finish(t, strings);
    bool beside = names && t->profile.nodes.count > WORTH_A_THREAD &&
                  pthread_create(&filler, NULL, fill_names, names) == 0;
    target_finish(t);
    heap_peak_settle_time(&t->profile);
    if (beside)
        pthread_join(filler, NULL);
    else if (names)
        fill_names(names);
    marks_finish(t, strings);
    t->packed.figures = true;
}

/* Naming needs only the addresses of the nodes. */
static void keep_addresses(struct profile *p)
{
    struct map seen = {0};
    size_t count = 1;
    for (size_t i = 1; i < p->nodes.count; i++) {
        uint32_t *known = map_at(&seen, p->nodes.items[i].address);
        if (*known != MAP_NONE)
            continue;
        *known = 0;
        p->nodes.items[count++] = (struct node){.address = p->nodes.items[i].address};
    }
    map_release(&seen);
    p->nodes.items = xrealloc(p->nodes.items, count * sizeof *p->nodes.items);
    p->nodes.count = p->nodes.capacity = count;
}

void packing_figures(struct target *t, struct strpool *strings)
{
    make_figures(t, strings, NULL);
    write_figures(t, PROFILE_FIGURES, 0, &t->packed.chunks);
    profile_release_figures(&t->profile);
    keep_addresses(&t->profile);
    target_release_figures(t);
}

static void release_names(struct target *t, struct naming *naming)
{
    naming_forget(naming);
    profile_release_names(&t->profile);
    python_codes_release(&t->python.codes);
    jit_names_release(&t->jit);
    t->packed.names = true;
}

void packing_names(struct target *t, struct naming *naming, struct strpool *strings)
{
    struct strbuf *chunks = &t->packed.chunks;
    fill_names(&(struct filling){t, naming, strings});
    writer_parts(chunks, 0, &t->profile, PROFILE_NAMES, NULL);
    release_names(t, naming);
    chunks->data = xrealloc(chunks->data, chunks->size + 1);
    chunks->capacity = chunks->size + 1;
}

void packing_write(struct target *t, struct naming *naming, struct strpool *strings,
                   uint32_t number, struct strbuf *out)
{
    struct packed *k = &t->packed;
    struct filling names = {t, naming, strings};
    unsigned parts = PROFILE_ENDING;
    if (!k->figures) {
        make_figures(t, strings, &names);
        parts |= PROFILE_FIGURES | PROFILE_NAMES;
    } else if (!k->names) {
        fill_names(&names);
        parts |= PROFILE_NAMES;
    }
    if (parts & PROFILE_FIGURES) {
        write_figures(t, parts, number, out);
    } else {
        writer_parts(out, number, &t->profile, PROFILE_ENDING, NULL);
        chunks_renumber(&k->chunks, number);
        strbuf_add(out, k->chunks.data ? k->chunks.data : "", k->chunks.size);
        strbuf_release(&k->chunks);
        writer_parts(out, number, &t->profile, parts & ~(unsigned)PROFILE_ENDING, NULL);
    }
    profile_release_figures(&t->profile);
    release_names(t, naming);
}
