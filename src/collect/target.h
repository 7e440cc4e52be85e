/*
 * target: one process that is being recorded: its shared memory, and what was made of it so far.
 *
 * The program owns the shared memory as much as we do and may have scribbled over it: every number
 * read there is checked before it is used, and read only once.
 *
 * Life: target_new when the process says hello; target_drain again and again; target_end once, when
 * it is gone; then target_finish makes the profile that goes into the file.
 */
#ifndef TIDE_COLLECT_TARGET_H
#define TIDE_COLLECT_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "collect/blocks.h"
#include "collect/ledger.h"
#include "collect/ranges.h"
#include "collect/timeline.h"
#include "store/recording.h"
#include "wire/layout.h"

#define NO_THREAD       UINT32_MAX
#define RECENT_ACCOUNTS 1024

struct recent_account {
    uint32_t stack, thread, account;
};

/* One ring and where we are in it. */
struct reader {
    struct wire_ring *ring;
    const uint64_t *chunks; /* WIRE_CHUNKS places */
    const uint64_t *chunk;  /* the one we are in */
    uint64_t at;            /* words read */
    uint64_t due;           /* words there were when this pass began: they will be read in it */
    uint64_t head;          /* words there were a moment later: they may be */
    uint64_t clock;         /* logical time of what comes next */
    uint32_t tick;
    uint32_t thread;     /* whose events these are, in profile.threads; NO_THREAD at first */
    uint64_t last_alloc; /* address of this thread's latest allocation, while it may be temporary */
    uint64_t dropped;
    struct recent_account recent[RECENT_ACCOUNTS]; /* by stack */
    bool damaged;    /* nonsense was found: this ring is not read any more */
    bool in_realloc; /* the next record is what came of a realloc */
    bool old_known;  /* of it: `old` was a live block */
    struct block old;
};

/* An interval's end that was announced and waits until all events before it have been read. */
struct boundary {
    uint32_t tick;
    uint64_t time_ns;
};

struct segment {
    void *memory;
    size_t size;
};

struct target {
    pid_t pid;
    int pidfd;
    int fd;
    struct wire_header *header;
    size_t size;       /* of the mapping at header */
    uint64_t start_ns; /* on the session's clock */
    uint32_t modules_read;
    bool ended;
    uint32_t nodes_capacity;
    VEC(struct segment) segments; /* further rings */

    VEC(struct reader) readers;
    VEC(struct reader *) active; /* of this pass */
    VEC(struct boundary) boundaries;
    struct ledger ledger;
    struct blocks blocks;
    struct ranges ranges;
    struct timeline timeline;

    uint64_t pass_words; /* the most that one ring had in the last pass */
    uint64_t pass_bytes; /* allocated in this pass: bounds the peak's error */
    struct batch *batch; /* drain.c's room to work in */

    uint64_t events;
    uint64_t missed_frees;
    uint64_t unrecorded;       /* of header->unrecorded, what has been counted as lost */
    uint64_t stack_start;      /* as /proc has it: exec changes it */
    uint32_t unfollowed;       /* header->unfollowed, in the end */
    char *became;              /* the program that it has become, if that is not recorded */
    VEC(uint8_t) stack_states; /* by node: enum stack_state */
    VEC(uint32_t) late_nodes;  /* whose number was taken before they were written */
    struct profile profile;
    uint64_t stamp_length_ns, next_stamp_ns;
};

struct target *target_new(pid_t pid, bool small, enum wire_on_full on_full, uint64_t interval_ns,
                          struct err *err);
void target_free(struct target *t);
/* Can shared memory be made here at all? Asked before the program starts. */
int target_check(struct err *err);
/* Further rings, in a memfd of their own; its fd, to be passed on and closed, or a negative errno.
 */
int target_more_rings(struct target *t, uint32_t count, size_t *size);

/* Reads all that was there at the call. now_ns: time since the target's start. Returns words read.
 */
uint64_t target_drain(struct target *t, uint64_t now_ns);
/* The process is gone: reads the rest and closes the last interval. */
void target_end(struct target *t, uint64_t now_ns);
/* Moves modules and nodes that are new into the profile. */
void target_update_code(struct target *t);
/* Fills target.profile's sites and totals; the interval log is in target.timeline. */
void target_finish(struct target *t);

/* drain.c */
uint64_t drain_rings(struct target *t, uint64_t now_ns);

#endif
