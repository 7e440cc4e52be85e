/*
 * part_table: the chunks of a profile, each with the functions that write and read it.
 *
 * Both functions of a chunk are next to each other in the file that is named after it;
 * docs/FORMAT.md describes the bytes. A chunk that refers to others (LIVE to SITE, say) comes after
 * them: numbers that point beyond what is there are damage.
 */
#ifndef TIDE_STORE_PART_TABLE_H
#define TIDE_STORE_PART_TABLE_H

#include "store/compressed_chunk.h"
#include "store/recording.h"
#include "store/rows.h"
#include "store/writer.h"

struct part {
    enum chunk_type type;
    enum profile_part part;
    void (*put)(struct strbuf *b, const struct profile *p); /* NULL: put_packed */
    void (*take)(struct cursor *c, struct profile *p);
    /* Does the profile have this part? If a chunk occurs again, it is ignored. If `if_there` is
     * set, an empty part is not written. */
    bool (*is_there)(const struct profile *p);
    bool if_there;
    /* `packed`: what is not in the profile, or NULL. */
    void (*put_packed)(struct strbuf *b, const struct profile *p,
                       const struct packed_figures *packed);
};

/* In the order of the file. */
#define PARTS 22
extern const struct part part_table[PARTS];

#define PART(name)                                                                                 \
    void name##_put(struct strbuf *b, const struct profile *p);                                    \
    void name##_take(struct cursor *c, struct profile *p);
PART(process)
PART(imported)
PART(sampling)
PART(notes)
PART(threads)
PART(nodes)
PART(stamps)
PART(marks)
PART(inherited)
PART(attached)
PART(live_blocks)
PART(captures)
PART(footprints)
PART(python)
PART(histograms)
PART(chain_rows)
PART(inputs)
PART(spreads)
PART(modules)
PART(frames)
#undef PART
/* How many sites there are. */
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
