/*
 * part_table: the chunks that a profile is kept in, each with what writes and what reads it.
 *
 * The two functions of a chunk stand next to each other in the file that is named after it;
 * docs/FORMAT.md describes the bytes. Those that refer to others (LIVE to SITE, say) come after
 * them: numbers that point beyond what is there are damage.
 */
#ifndef TIDE_STORE_PART_TABLE_H
#define TIDE_STORE_PART_TABLE_H

#include "store/chunk.h"
#include "store/recording.h"
#include "store/rows.h"
#include "store/writer.h"

struct part {
    enum chunk_type type;
    enum profile_part part;
    void (*put)(struct strbuf *b, const struct profile *p); /* NULL: intervals_put */
    void (*take)(struct cursor *c, struct profile *p);
    /* Does the profile have it? A chunk that comes again is not taken again; and where `if_there`
     * is set, one that would be empty is not written. */
    bool (*is_there)(const struct profile *p);
    bool if_there;
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
PART(sites)
PART(stamps)
PART(marks)
PART(inherited)
PART(attached)
PART(living)
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
/* `packed`: the rows, if they are not in the profile. */
void intervals_put(struct strbuf *b, const struct profile *p, const struct packed_rows *packed);
void intervals_take(struct cursor *c, struct profile *p);

/* A column of numbers that are often equal or zero packs better alone than among others. */
#define PUT_COLUMN(b, vec, field)                                                                  \
    for (size_t i = 0; i < (vec).count; i++)                                                       \
    strbuf_varint(b, (vec).items[i].field)

#endif
