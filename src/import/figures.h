/*
 * figures: sums by stack, for files without single allocations: one interval, one row for each
 * site. Figures of the same stack are added up.
 *
 * Ownership: the figures are the profile's; figures_release frees the index. Not thread-safe.
 */
#ifndef TIDE_IMPORT_FIGURES_H
#define TIDE_IMPORT_FIGURES_H

#include "import/import.h"

struct figures {
    struct import *import;
    struct map index; /* node, thread and domain -> site */
    bool no_rows;     /* the importer adds the rows itself */
};

/* What a file says about one stack; 0 if it says nothing. */
struct figure {
    uint64_t bytes, blocks;           /* allocated, or sampled */
    uint64_t live_bytes, live_blocks; /* the part that is live at the end */
    uint64_t peak_bytes, peak_blocks; /* at the peak of the process */
    uint64_t own_bytes, own_blocks;   /* at the stack's own peak */
};

void figures_init(struct figures *f, struct import *m);
void figures_release(struct figures *f);
/* The number of the site. */
uint32_t figures_site(struct figures *f, uint32_t node, uint32_t thread, enum domain domain);
void figures_add(struct figures *f, uint32_t site, const struct figure *v);
uint64_t figures_memory(const struct figures *f);
/* Adds the interval for all of it and, unless that is unknown, what was live at its end.
 * profile.duration_ns must be set before. */
void figures_finish(struct figures *f);

#endif
