/*
 * mapped_by: which library holds memory that it mapped itself, in addition to the heap.
 *
 * Libraries with an allocator of their own (jemalloc inside polars, mimalloc inside pyarrow) get
 * their memory by mmap, and the recorder does not see the blocks inside. If that is a large part of
 * resident memory, a summary of the heap alone is misleading.
 *
 * The figures are of the moment at which resident memory was highest: of a footprint, which counted
 * this memory page by page, or of a stamp, a reading of RSS and other sizes. At a stamp only
 * anonymous memory counts, less the heap and what the nearest footprint explains otherwise: not
 * mapped files, and not address space that was only reserved. CPython's arenas are reported
 * elsewhere (model/arenas_at.h) and left out here.
 */
#ifndef TIDE_MODEL_MAPPED_BY_H
#define TIDE_MODEL_MAPPED_BY_H

#include "store/recording.h"

struct mapped_by {
    const char *module; /* the base name of its file, in the profile; NULL: nothing to report */
    /* Bytes that the library mapped, and that are resident as far as is known. */
    uint64_t bytes;
    uint64_t rss_bytes;  /* total resident memory at that time */
    uint64_t heap_bytes; /* live heap at that time */
    uint64_t time_ns;    /* the time of these figures */
};

struct mapped_by mapped_by(const struct profile *p);

/* Did CPython itself map the memory of this site for its small objects? */
bool mapped_by_python(const struct profile *p, const struct site *s);

#endif
