/*
 * session_state: the structures that the files of session.h share.
 *
 *   session.c      the loop: processes connect, are read, and end
 *   process_end.h  notices that a process has ended, and ends its profile
 *   clients.c      answers programs that connect, or need more rings
 *   requests.c     answers other requests of `tidemark ctl` and of recorded programs
 *   saving.c       writes the file, at the end and at checkpoints
 *   snapshots.c    writes the recording so far as a file of its own
 */
#ifndef TIDE_COLLECT_SESSION_SESSION_STATE_H
#define TIDE_COLLECT_SESSION_SESSION_STATE_H

#include "collect/attach/attach_process.h"
#include "collect/session/checkpoint_schedule.h"
#include "collect/session/control_socket.h"
#include "collect/naming/naming.h"
#include "collect/sampling/samples.h"
#include "collect/session/session.h"
#include "collect/session/inherited_limits.h"
#include "collect/counting/target.h"
#include "collect/session/not_recorded.h"
#include "collect/session/snapshot_triggers.h"

/* A snapshot that a forked copy of the collector writes. */
struct snapshot {
    pid_t writer; /* pid of the writing process; 0: the snapshot is complete */
    unsigned number;
    char *file; /* NULL: a snapshot for `tidemark top` has none */
    bool ours;  /* automatic: it may be removed (--keep) */
};

/* The state of a session with a program that already ran (attached.h). */
struct attached {
    enum { NOT_ATTACHED, ATTACHING, RECORDING, RESTORING, FINISHED, FAILED } state;
    int pidfd; /* pidfd of the program */
    bool leaving, has_asker;
    unsigned tries;      /* failed attempts to restore the program's code */
    struct client asker; /* the client that asked us to detach, and waits */
    int code;            /* the error; 0: none */
    struct err err;
    uint64_t began_ns, stopped_ns;
    struct attach_process first;
    VEC(struct attach_process) restoring;
};

struct session {
    const struct session_options *options;
    struct attached attached;
    struct inherited_limits inherited;
    struct control_socket socket;
    int signals;
    pid_t program;
    int wait_status;
    bool program_ended, abandoned;
    unsigned program_filters; /* seccomp filters of the program when it ended */
    unsigned left;            /* processes that did not wait for an answer */
    unsigned refused;         /* processes that were refused for lack of memory or descriptors */
    uint64_t start_ns, start_unix_ns;
    VEC(struct target *) targets;
    VEC(struct target *) live; /* the targets that have not ended, perhaps few of many */
    struct target *last_ended; /* the target after which none was left, still unpacked; or NULL */
    VEC(struct target *) unnamed; /* their figures are packed, their names are not */
    struct naming *naming;
    struct strpool strings; /* strings of the file */
    struct not_recorded not_recorded;
    struct mark_on mark_on;
    uint64_t last_end_ns; /* when the collector noticed the last end of a process */
    uint64_t next_naming_ns, next_progress_ns;
    uint64_t next_check_ns, alone_since_ns; /* for descendants that have not connected */
    /* Number of these descendants that the collector waits for. */
    unsigned unconnected;
    pid_t checkpoint; /* pid of the process that writes one; 0: none */
    struct checkpoint_schedule checkpoints;
    /* Number of targets in the last checkpoint, if all are dormant; else 0. */
    size_t checkpointed;
    uint64_t fork_ns, fork_faults;  /* how long the fork took; our page faults at that time */
    VEC(struct snapshot) snapshots; /* snapshots being written, or that may be removed later */
    unsigned snapshot_count;        /* how many were begun so far */
    struct triggers triggers;       /* conditions for further snapshots */
    char *snapshot_note;            /* about the last automatic snapshot, or NULL */
    uint64_t next_snapshot_ns;
    uint64_t forked_spent_ns;     /* spent at the ends of forked processes (end_budget.h) */
    VEC(struct ending *) endings; /* processes that were read, and not summed up yet */
    uint64_t next_reading_ns;     /* when the next of several processes is read while it runs */
    uint64_t sampled_count;       /* how many processes so far had their allocations sampled */
    bool paused;                  /* new processes begin paused */
    bool dormant;                 /* new processes begin dormant */
    bool was_dormant;             /* recording was dormant at some time */
    struct samples *samples;      /* NULL: no samples are taken */
    struct sampling before;       /* what the kernel had counted before the program was executed */
    VEC(struct pollfd) waits;
    char *file;
};

uint64_t elapsed_ns(const struct session *s);
/* Is CPU time sampled, by perf events or by the program's own timers? */
bool session_is_sampled(const struct session *s);
/* Finds a process that has not ended; NULL: none. */
struct target *session_target(struct session *s, pid_t pid);
/* Adds a process that has not connected. `fresh`: it had used nothing before it is recorded. */
struct target *session_add_target(struct session *s, pid_t pid, bool fresh);
/* Begins the target's profile. Its times count from `age_ns` ago. */
void session_begin_target(struct session *s, struct target *t, uint64_t age_ns);
/* Reads what all processes have recorded up to now. */
void session_drain(struct session *s);
/* Tells the caller which slow step is going on, as in "finding names", and how much of it is done;
 * `total` 0: not counted. */
void session_report_work(struct session *s, const char *work, size_t done, size_t total);
/* Does --only select the program that the process executes? `name`: the kernel's name for it; NULL:
 * not known. */
bool session_is_wanted(const struct session *s, pid_t pid, const char *name);

/* In session_samples.c. Called while the process that is to become the program waits. `context`:
 * the session. */
int session_open_samples(void *context, pid_t pid, struct err *err);
/* Reads the last samples, also of processes that go on without us. */
void session_finish_samples(struct session *s);

/* clients.c */
void session_answer_clients(struct session *s);

/* requests.c */
void request_answer(struct session *s, struct client *v);
/* Sums up what was read of processes that end. Call it before their events are read again. */
void request_finish_endings(struct session *s);

/* saving.c */
/* Passes new nodes to naming. */
void queue_names(struct session *s);
/* Packs a process that has ended into chunks of the file, except its names, while other processes
 * continue. */
void put_away(struct session *s, struct target *t);
/* Packs the names of processes whose names have all been found. Call it at every turn of the
 * loop. */
void put_names_away(struct session *s);
void checkpoint_if_due(struct session *s, uint64_t now);
/* Call freeze_counts before a fork, and thaw_counts after it in the parent, so that the forked copy
 * has what programs have counted up to now. */
void freeze_counts(struct session *s);
void thaw_counts(struct session *s);
/* Makes the file with the current state. Call it in a forked copy of the collector, whose memory
 * does not change. */
void compose_copy(struct session *s, uint64_t now, struct recording *r, struct strbuf *bytes);
int finish(struct session *s, struct session_result *result, struct err *err);

/* snapshots.c */
/* Begins to write a snapshot to a name with %I or to a command; "": a name is chosen. Answers the
 * client that asked; may be NULL. */
void snapshot_begin(struct session *s, const char *pattern, struct client *asker);
void snapshot_if_due(struct session *s, uint64_t now);
/* Waits until all snapshots are written. */
void snapshots_await(struct session *s);

#endif
