#include "import/events.h"

#define INTERVAL_NS UINT64_C(10000000)
#define STAMPS_MOST 4096

void events_init(struct events *e, struct import *m)
{
    *e = (struct events){.import = m};
    ledger_init(&e->ledger);
    interval_log_init(&e->log, INTERVAL_NS);
}

void events_release(struct events *e)
{
    ledger_release(&e->ledger);
    interval_log_release(&e->log);
    blocks_release(&e->blocks);
}

void events_time(struct events *e, uint64_t now_ns)
{
    if (now_ns < e->now_ns)
        return;
    e->timed = true;
    e->now_ns = now_ns;
    if (now_ns >= e->log.next_end_ns)
        interval_log_close(&e->log, &e->ledger, now_ns, e->ticks++, false);
}

uint32_t events_site(struct events *e, uint32_t node, uint32_t thread, enum domain domain)
{
    return ledger_account(&e->ledger, node, thread, domain, STACK_WHOLE);
}

void events_alloc(struct events *e, uint32_t site, uint64_t size)
{
    uint64_t epoch = e->ledger.peak_epoch;
    ledger_alloc(&e->ledger, site, size, size, false);
    if (e->ledger.peak_epoch != epoch)
        e->peak_time_ns = e->now_ns;
}

void events_free(struct events *e, uint32_t site, uint64_t size, bool temporary)
{
    ledger_free(&e->ledger, site, size, size, temporary);
}

void events_stamp(struct events *e, uint64_t rss_bytes)
{
    struct profile *p = e->import->profile;
    *vec_push(&p->stamps) = (struct stamp){.time_ns = e->now_ns,
                                           .rss_bytes = rss_bytes,
                                           .live_bytes = e->ledger.live.bytes,
                                           .live_blocks = e->ledger.live.blocks,
                                           .allocations = e->ledger.allocations};
    if (p->stamps.count >= STAMPS_MOST)
        vec_thin_out(&p->stamps);
}

uint64_t events_memory(const struct events *e)
{
    return e->ledger.accounts.count * (sizeof(struct account) + sizeof(struct site_amounts) + 64) +
           e->blocks.count * 64 + e->log.bytes;
}

/* Adds a scan of what is live now. */
static void scan_end(const struct events *e, size_t sites)
{
    struct import_live *live = xcalloc(sites + 1, sizeof *live);
    for (size_t i = 0; i < sites; i++) {
        const struct account *a = &e->ledger.accounts.items[i];
        struct amount now = ledger_live(&e->ledger, a);
        if (domain_is_live(a->domain))
            live[i] = (struct import_live){now.bytes, now.blocks};
    }
    import_scan(e->import, live, sites);
    free(live);
}

void events_finish(struct events *e)
{
    struct import *m = e->import;
    struct profile *p = m->profile;
    size_t sites = e->ledger.accounts.count;
    p->duration_ns = e->now_ns;
    p->peak_bytes = e->ledger.peak_bytes;
    p->peak_blocks = e->ledger.peak_blocks;
    p->peak_time_ns = e->peak_time_ns;
    interval_log_close(&e->log, &e->ledger, e->now_ns, e->ticks++, false);
    interval_log_settle(&e->log, &e->ledger);
    for (size_t i = 0; i < e->log.slices.count; i++) {
        struct slice *s = &e->log.slices.items[i];
        *vec_push(&p->intervals) = s->interval;
        *vec_push(&m->packed) = s->rows;
        *vec_push(&m->packed_counts) = s->row_count;
        s->rows = (struct strbuf){0};
    }
    if (!profile_lacks(p, UNKNOWN_LIVE))
        scan_end(e, sites);
    ledger_close(&e->ledger);
    ledger_become_sites(&e->ledger, p, 0);
    ledger_init(&e->ledger); /* so that it can be released again */
}
