/*
 * events: counts single allocations and frees as the collector does. The ledger and the interval
 * log are the collector's (collect/counting): the same peak, the same intervals, and memory in
 * proportion to sites, whatever the number of events.
 *
 * Ownership: events_release frees; events_finish moves the figures into the profile. Not thread-
 * safe.
 */
#ifndef TIDE_IMPORT_EVENTS_H
#define TIDE_IMPORT_EVENTS_H

#include "collect/counting/blocks.h"
#include "collect/counting/interval_log.h"
#include "collect/counting/ledger.h"
#include "import/import.h"

struct events {
    struct import *import;
    struct ledger ledger;
    struct interval_log log;
    struct blocks blocks; /* by address, for files that have addresses */
    uint64_t now_ns, peak_time_ns;
    uint32_t ticks;
    bool timed; /* the file has times */
};

void events_init(struct events *e, struct import *m);
void events_release(struct events *e);
/* Advances the time; an earlier time is ignored. */
void events_time(struct events *e, uint64_t now_ns);
/* The number of the site. */
uint32_t events_site(struct events *e, uint32_t node, uint32_t thread, enum domain domain);
void events_alloc(struct events *e, uint32_t site, uint64_t size);
void events_free(struct events *e, uint32_t site, uint64_t size, bool temporary);
/* Adds a stamp: the process as its tool saw it now. */
void events_stamp(struct events *e, uint64_t rss_bytes);
uint64_t events_memory(const struct events *e);
/* Fills the profile: intervals, sites, the peak, what is live at the end. */
void events_finish(struct events *e);

#endif
