/*
 * chunk_table: the chunks of a profile, each with the functions that encode and decode it.
 *
 * Both functions of a chunk are next to each other in one file: mark_chunks.c, merge_chunks.c,
 * process_chunk.c, python_chunk.c, site_chunks.c, stack_chunks.c, captures.c, chain_rows.c,
 * footprints.c, gpu_chunk.c, histograms.c or live_blocks.c. docs/FORMAT.md describes the bytes. A
 * chunk that refers to another one (LIVE to SITE, for example) comes after it, so the decoder
 * rejects a number that points beyond the entries decoded so far.
 */
#ifndef TIDE_STORE_CHUNK_TABLE_H
#define TIDE_STORE_CHUNK_TABLE_H

#include "store/chunk.h"
#include "store/recording.h"
#include "store/rows.h"
#include "store/writer.h"

struct chunk_codec {
    enum chunk_type type;
    enum profile_part part;
    void (*put)(struct strbuf *b, const struct profile *p); /* NULL: put_packed */
    void (*take)(struct cursor *c, struct profile *p);
    /* Does the profile already have the contents of this chunk? If so, the decoder ignores another
     * chunk of the type. If `if_there` is set, the writer leaves out an empty chunk. */
    bool (*is_there)(const struct profile *p);
    bool if_there;
    /* Used instead of `put`. `packed` has the figures that are not in the profile, or is NULL. */
    void (*put_packed)(struct strbuf *b, const struct profile *p,
                       const struct packed_figures *packed);
};

/* All chunks of a profile, in the order in which they are in the file. */
#define CHUNK_CODECS 23
extern const struct chunk_codec chunk_table[CHUNK_CODECS];

#define CODEC(name)                                                                                \
    void name##_put(struct strbuf *b, const struct profile *p);                                    \
    void name##_take(struct cursor *c, struct profile *p);
CODEC(process)
CODEC(imported)
CODEC(sampling)
CODEC(notes)
CODEC(threads)
CODEC(nodes)
CODEC(stamps)
CODEC(marks)
CODEC(inherited)
CODEC(attached)
CODEC(live_blocks)
CODEC(captures)
CODEC(footprints)
CODEC(python)
CODEC(gpu)
CODEC(histograms)
CODEC(chain_rows)
CODEC(inputs)
CODEC(spreads)
CODEC(modules)
CODEC(frames)
#undef CODEC
/* The number of sites to write: those of `packed`, if it has any, otherwise those of the
 * profile. */
size_t packed_sites(const struct profile *p, const struct packed_figures *packed);
void sites_put(struct strbuf *b, const struct profile *p, const struct packed_figures *packed);
void sites_take(struct cursor *c, struct profile *p);
void intervals_put(struct strbuf *b, const struct profile *p, const struct packed_figures *packed);
void intervals_take(struct cursor *c, struct profile *p);

/* A column of numbers that are often equal or zero compresses better on its own than mixed with
 * others. */
#define PUT_COLUMN(b, vec, field)                                                                  \
    for (size_t i = 0; i < (vec).count; i++)                                                       \
    strbuf_varint(b, (vec).items[i].field)

#endif
