/*
 * snapshot_triggers: conditions under which a snapshot is taken without being asked for (run
 * --snapshot-at). snapshots.c takes it, names its file and removes older ones.
 *
 *   rss=SIZE    a process's resident memory reaches SIZE; again after it was 10 % below
 *   live+N%     the live heap of all processes is N % above its value at the last snapshot, or
 *               above 1 MiB at first
 *   peak        the live heap of all processes is 10 % above its value at every earlier snapshot
 *   oom         memory is nearly used up: nine tenths of a memory cgroup's limit, or all but 5 % of
 *               the machine's; again after there was twice that room
 *
 * There are 10 to 100 checks a second; the less processor time they take, the more.
 *
 * Called from the session's one thread.
 */
#ifndef TIDE_COLLECT_SESSION_SNAPSHOT_TRIGGERS_H
#define TIDE_COLLECT_SESSION_SNAPSHOT_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct target;

enum trigger_kind { TRIGGER_RSS, TRIGGER_LIVE, TRIGGER_PEAK, TRIGGER_OOM };

struct trigger {
    enum trigger_kind kind;
    uint64_t bytes;   /* TRIGGER_RSS */
    unsigned percent; /* TRIGGER_LIVE, TRIGGER_PEAK */
    uint64_t base;    /* live heap that growth is measured from, in bytes */
    bool fired;       /* the trigger has fired, and the value has not moved away since */
};

struct triggers {
    VEC(struct trigger) all;
    uint64_t next_check_ns, checks;
};

/* Parses a condition; false: the text is no condition. */
bool trigger_parse(const char *text, struct trigger *out);
/* Call it at every turn of the loop; it checks if that is due. true: a snapshot is to be taken now;
 * the reason is appended to `why`. */
bool triggers_check(struct triggers *s, struct target *const *targets, size_t count,
                    uint64_t now_ns, struct strbuf *why);
/* Notes that a snapshot was taken, for whatever reason: growth is measured from here on. */
void triggers_taken(struct triggers *s, struct target *const *targets, size_t count);

#endif
