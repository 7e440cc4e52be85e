/*
 * ranks FOLDER COUNT [FIRST]: writes COUNT recordings as the ranks of one job would leave them, about
 * 1 MB each.
 *
 * All ranks run the same program: 300 libraries with build ids, at other addresses in each rank, and
 * the same 30,000 stack nodes with 8,000 call sites. Values, times and a few stacks differ from rank
 * to rank. Every hundredth rank has ten times as much live at one site.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/writer.h"

enum { LIBRARIES = 300, NODES = 30000, SITES = 8000, FUNCTIONS = 6000, INTERVALS = 40 };
enum { ROWS = 2600 }; /* in each interval */

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* The same for all ranks. */
static uint64_t fixed(uint64_t a, uint64_t b)
{
    uint64_t h = (a + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (b + 7) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 31;
    return h * UINT64_C(0xc4ceb9fe1a85ec53) >> 13;
}

static void add_libraries(struct profile *p, uint64_t rank)
{
    for (uint32_t i = 0; i < LIBRARIES; i++) {
        struct module m = {.start = (UINT64_C(0x7f00) << 32) + (rank << 28) % (UINT64_C(1) << 40) +
                                    ((uint64_t)i << 24),
                           .epoch = 1,
                           .path = xasprintf("/opt/job/lib/libpart%03" PRIu32 ".so", i),
                           .build_id_size = 20};
        m.end = m.start + (1 << 22);
        m.bias = m.start;
        for (int k = 0; k < 20; k++)
            m.build_id[k] = (uint8_t)fixed(i, (uint64_t)k);
        *vec_push(&p->modules) = m;
    }
}

/* The instruction of a node, and its names. */
static uint64_t address_of(struct recording *r, struct profile *p, uint32_t node)
{
    uint32_t function = (uint32_t)(fixed(node, 1) % FUNCTIONS), line = fixed(node, 2) % 20;
    const struct module *m = &p->modules.items[function % LIBRARIES];
    uint64_t address = UINT64_C(1) << 48 | (m->start + 0x1000 + function * 64 + line * 3);
    if (map_get(&p->symbols, address) != MAP_NONE)
        return address;
    char *name = xasprintf("physics::Module%" PRIu32 "::process(Event const&, int)", function);
    char *file = xasprintf("/home/user/job/src/module%03" PRIu32 ".cc", function % 400);
    *map_at(&p->symbols, address) = (uint32_t)p->frame_runs.count;
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
    *vec_push(&p->frames) =
        (struct frame){.function = strpool_add(&r->strings, name),
                       .module = strpool_add(&r->strings, strrchr(m->path, '/') + 1),
                       .file = strpool_add(&r->strings, file),
                       .line = 10 + function % 100 + line};
    free(name);
    free(file);
    return address;
}

static void add_stacks(struct recording *r, struct profile *p, uint64_t rank)
{
    *vec_push(&p->nodes) = (struct node){0};
    for (uint32_t i = 1; i <= NODES; i++) {
        bool own = i > NODES - 20; /* stacks that few ranks have */
        uint32_t seed = own ? i + (uint32_t)(rank % 50) * 1000000 : i;
        uint32_t parent = i < 10 ? i - 1 : (uint32_t)(i - 1 - fixed(seed, 3) % (i / 8 + 1));
        *vec_push(&p->nodes) = (struct node){parent, address_of(r, p, seed)};
    }
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
}

static void add_figures(struct profile *p, uint64_t rank)
{
    *vec_push(&p->threads) = (struct thread){.tid = 1, .name = xstrdup("main")};
    for (uint32_t i = 0; i < SITES; i++) {
        uint64_t unit = 16 + fixed(i, 4) % 4000;
        *vec_push(&p->sites) = (struct site){.node = (uint32_t)(NODES - SITES + 1 + i),
                                             .domain = DOMAIN_HEAP,
                                             .unit_bytes = unit,
                                             .unit_usable = (unit + 15) & ~UINT64_C(15),
                                             .largest_bytes = unit};
    }
    uint64_t live = 0;
    for (uint32_t i = 0; i < INTERVALS; i++) {
        struct interval *v = vec_push(&p->intervals);
        *v =
            (struct interval){.end_ns = (i + 1) * UINT64_C(1000000000), .first_row = p->rows.count};
        uint32_t site = 0;
        for (uint32_t k = 0; k < ROWS; k++) {
            site += 1 + (uint32_t)(next_random() % 5);
            if (site >= SITES)
                break;
            struct site *s = &p->sites.items[site];
            uint64_t n = 1 + next_random() % 4000, kept = next_random() % 16;
            if (site < 8 && rank % 100 == 99)
                kept = n *= 10;
            kept = kept < n ? kept : n;
            struct row row = {.site = site};
            row.columns[COL_ALLOCS] = n;
            row.columns[COL_BYTES] = n * s->unit_bytes;
            row.columns[COL_FREES] = n - kept;
            row.columns[COL_FREED] = (n - kept) * s->unit_bytes;
            row.columns[COL_USABLE] = n * s->unit_usable;
            row.columns[COL_USABLE_FREED] = (n - kept) * s->unit_usable;
            row.columns[COL_TEMPS] = n / 3 < n - kept ? n / 3 : n - kept;
            row.columns[COL_TEMP_BYTES] = row.columns[COL_TEMPS] * s->unit_bytes;
            *vec_push(&p->rows) = row;
            s->at_peak_blocks += kept;
            s->own_peak_blocks += kept;
            s->at_peak_bytes = s->own_peak_bytes += kept * s->unit_bytes;
            s->at_peak_usable += kept * s->unit_usable;
            live += kept * s->unit_bytes;
            p->peak_blocks += kept;
        }
        v->row_count = p->rows.count - v->first_row;
        v->peak_bytes = live;
    }
    p->peak_bytes = live;
    p->peak_time_ns = p->duration_ns = INTERVALS * UINT64_C(1000000000);
    p->has_histograms = true;
}

static int write_rank(const char *folder, uint64_t rank)
{
    struct recording *r = recording_new();
    struct profile *p = vec_push(&r->profiles);
    state = fixed(rank, 5) | 1;
    *p = (struct profile){.pid = (uint32_t)(1000 + rank),
                          .executable = xstrdup("/opt/job/bin/reco"),
                          .host = xasprintf("node%04" PRIu64, rank / 64),
                          .start_unix_ns = UINT64_C(1700000000000000000) + rank,
                          .complete = true,
                          .rank1 = (uint32_t)rank + 1};
    *vec_push(&p->command) = xstrdup("/opt/job/bin/reco");
    strpool_add(&r->strings, "");
    add_libraries(p, rank);
    add_stacks(r, p, rank);
    add_figures(p, rank);
    r->complete = true;
    struct strbuf out = {0};
    recording_write(&out, r);
    char *name = xasprintf("%s/rank.%05" PRIu64 ".tide", folder, rank);
    FILE *f = fopen(name, "w");
    bool bad = !f || fwrite(out.data, 1, out.size, f) != out.size;
    bad |= f && fclose(f) != 0;
    if (bad)
        fprintf(stderr, "ranks: cannot write %s\n", name);
    free(name);
    strbuf_release(&out);
    recording_free(r);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: ranks FOLDER COUNT [FIRST]\n", stderr);
        return 2;
    }
    uint64_t count = strtoull(argv[2], NULL, 10),
             first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    for (uint64_t i = 0; i < count; i++)
        if (write_rank(argv[1], first + i))
            return 1;
    return 0;
}
