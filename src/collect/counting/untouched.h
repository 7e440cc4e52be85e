/*
 * untouched: large blocks that were never written to, as the program saw when it freed them:
 * record/untouched.c decides which blocks are examined and what counts as untouched.
 */
#ifndef TIDE_COLLECT_COUNTING_UNTOUCHED_H
#define TIDE_COLLECT_COUNTING_UNTOUCHED_H

#include "base/map.h"
#include "base/vec.h"
#include "collect/counting/blocks.h"
#include "store/recording.h"

struct target;

/* A reading of a block whose account is not known yet. */
struct early_reading {
    struct block block;
    uint64_t bytes; /* bytes that were never resident */
    uint32_t account;
};

struct untouched {
    VEC(struct freed_reading)
    freed_readings;        /* large blocks that were freed, one entry for each site */
    struct map reading_of; /* site -> index in freed_readings */
    VEC(struct early_reading) early;
};

/* Handles a WIRE_NOTE_TOUCHED: the block is about to be freed, and `bytes` of it were never
 * resident. */
void untouched_note(struct target *t, uint64_t address, uint64_t bytes, uint64_t account,
                    uint64_t size);
/* Assigns early readings to their sites. Call it when everything that the program reported has been
 * read. */
void untouched_settle(struct target *t);
/* Fills target.profile's freed_readings. */
void untouched_finish(struct target *t);
void untouched_release(struct untouched *u);

#endif
