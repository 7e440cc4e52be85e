#include "import/figures.h"

void figures_init(struct figures *f, struct import *m)
{
    *f = (struct figures){.import = m};
}

void figures_release(struct figures *f)
{
    map_release(&f->index);
}

uint32_t figures_site(struct figures *f, uint32_t node, uint32_t thread, enum domain domain)
{
    struct profile *p = f->import->profile;
    uint32_t *known =
        map_at(&f->index, (uint64_t)domain << 48 | (uint64_t)(thread & 0xffff) << 32 | node);
    if (*known == MAP_NONE) {
        *known = (uint32_t)p->sites.count;
        *vec_push(&p->sites) = (struct site){.node = node, .thread = thread, .domain = domain};
        if (!f->no_rows)
            *vec_push(&p->rows) = (struct row){.site = *known};
        return (uint32_t)p->sites.count - 1;
    }
    return *known;
}

void figures_add(struct figures *f, uint32_t site, const struct figure *v)
{
    struct profile *p = f->import->profile;
    struct site *s = &p->sites.items[site];
    uint64_t *c = p->rows.items[site].columns;
    c[COL_ALLOCS] += v->blocks;
    c[COL_BYTES] += v->bytes;
    c[COL_USABLE] += v->bytes;
    if (!domain_is_sampled(s->domain)) {
        c[COL_FREES] += v->blocks - v->live_blocks;
        c[COL_FREED] += v->bytes - v->live_bytes;
        c[COL_USABLE_FREED] += v->bytes - v->live_bytes;
    }
    s->at_peak_bytes += v->peak_bytes;
    s->at_peak_usable += v->peak_bytes;
    s->at_peak_blocks += v->peak_blocks;
    s->own_peak_bytes += v->own_bytes;
    s->own_peak_blocks += v->own_blocks;
}

uint64_t figures_memory(const struct figures *f)
{
    return f->import->profile->sites.count * (sizeof(struct site) + sizeof(struct row) + 32);
}

void figures_finish(struct figures *f)
{
    struct import *m = f->import;
    struct profile *p = m->profile;
    for (size_t i = 0; i < p->sites.count; i++) { /* the size that predicts its rows */
        struct site *s = &p->sites.items[i];
        const uint64_t *c = p->rows.items[i].columns;
        s->unit_bytes = s->unit_usable = c[COL_ALLOCS] ? c[COL_BYTES] / c[COL_ALLOCS] : 0;
    }
    *vec_push(&p->intervals) = (struct interval){
        .end_ns = p->duration_ns, .peak_bytes = p->peak_bytes, .row_count = p->rows.count};
    if (profile_lacks(p, UNKNOWN_LIVE))
        return;
    struct import_live *live = xcalloc(p->sites.count + 1, sizeof *live);
    for (size_t i = 0; i < p->sites.count; i++) {
        const uint64_t *c = p->rows.items[i].columns;
        if (domain_is_live(p->sites.items[i].domain))
            live[i] =
                (struct import_live){c[COL_BYTES] - c[COL_FREED], c[COL_ALLOCS] - c[COL_FREES]};
    }
    import_scan(m, live, p->sites.count);
    free(live);
}
