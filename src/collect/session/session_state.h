/*
 * session_state: what the files behind session.h share.
 *
 *   session.c   the loop: processes come, are read, and go
 *   clients.c   what programs ask for themselves: to be recorded, more rings
 *   requests.c  what is asked for from outside, and by the program
 *   saving.c    the file: at the end and at checkpoints
 *   snapshots.c the file so far, as one of its own
 */
#ifndef TIDE_COLLECT_SESSION_SESSION_STATE_H
#define TIDE_COLLECT_SESSION_SESSION_STATE_H

#include "collect/attach/attach_process.h"
#include "collect/session/control_socket.h"
#include "collect/naming/naming.h"
#include "collect/sampling/samples.h"
#include "collect/session/session.h"
#include "collect/session/inherited_limits.h"
#include "collect/counting/target.h"
#include "collect/session/not_recorded.h"
#include "collect/session/triggers.h"

/* A snapshot that a forked copy of us writes. */
struct snapshot {
    pid_t writer; /* 0: it is written */
    unsigned number;
    char *file; /* NULL: a look has none */
    bool ours;  /* nobody asked for it: it may be removed (--keep) */
};

/* With a program that ran already (attached.h). */
struct attached {
    enum { NOT_ATTACHED, ATTACHING, RECORDING, RESTORING, FINISHED, FAILED } state;
    int pidfd; /* of the program */
    bool leaving, has_asker;
    unsigned tries;      /* to give it its code back that were in vain */
    struct client asker; /* who wants us to leave, and waits */
    int code;            /* of what failed; 0: nothing */
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
    unsigned program_filters; /* seccomp: when it ended */
    unsigned left;            /* processes that would not wait for an answer */
    unsigned refused;         /* processes for which there was no memory, or no descriptor */
    uint64_t start_ns, start_unix_ns;
    VEC(struct target *) targets;
    VEC(struct target *) live;    /* those that have not ended: there may be few of many */
    struct target *last_ended;    /* after which none was left, and which is as it ended; or NULL */
    VEC(struct target *) unnamed; /* whose figures are packed, and whose names are not */
    struct naming *naming;
    struct strpool strings; /* of the file */
    struct not_recorded not_recorded;
    struct mark_on mark_on;
    uint64_t next_naming_ns, next_progress_ns, next_checkpoint_ns;
    uint64_t next_look_ns, alone_since_ns; /* for descendants we have not heard of */
    unsigned unheard;                      /* of which we wait for so many */
    pid_t checkpoint;                      /* the process that writes one; 0: none */
    uint64_t fork_ns, fork_faults;         /* how long it took to fork it; our page faults then */
    VEC(struct snapshot) snapshots;        /* being written, or to be removed some day */
    unsigned snapshot_count;               /* begun so far */
    struct triggers triggers;              /* of more snapshots */
    char *snapshot_note;                   /* of the last that nobody asked for, or NULL */
    uint64_t next_snapshot_ns;
    uint64_t forked_spent_ns;     /* at the ends of forked processes (end_budget.h) */
    VEC(struct ending *) endings; /* processes that were looked at, and not summed up yet */
    uint64_t next_forked_ns;      /* when one of them is next looked at while it runs */
    uint64_t sampled_count;       /* processes so far whose allocations are sampled */
    bool paused;                  /* processes that begin are */
    bool dormant;                 /* likewise, and */
    bool was_dormant;             /* it was so once */
    struct samples *samples;      /* NULL: none are taken */
    struct sampling before;       /* what the kernel had counted before the program was executed */
    VEC(struct pollfd) waits;
    char *file;
};

uint64_t elapsed_ns(const struct session *s);
/* How a process ended, for its profile. */
void set_status(struct profile *p, int wait_status);
/* A process that has not ended; NULL: none. */
struct target *session_target(struct session *s, pid_t pid);
/* A process was met that has not said hello. `fresh`: it had used nothing before it is recorded. */
struct target *session_add_target(struct session *s, pid_t pid, bool fresh);
/* Its profile begins. */
void session_begin_target(struct session *s, struct target *t);
/* Has it ended, though nobody has told us? */
bool session_is_gone(const struct session *s, const struct target *t);
/* It has ended, or executes another program. */
void session_end_target(struct session *s, struct target *t, bool execed);
/* Ends the profiles of all processes that have ended by now. */
void session_reap(struct session *s);
/* Reads what all processes have recorded up to now. */
void session_drain(struct session *s);
/* Tells who waits what is done now that takes its time: "finding names", so many of `total` (0: they
 * are not counted). */
void session_tell_work(struct session *s, const char *work, size_t done, size_t total);
/* Does --only ask for what the process executes? `name`: the kernel's; NULL: not known. */
bool session_is_wanted(const struct session *s, pid_t pid, const char *name);

/* session_samples.c: the process that is to become the program waits for us. `context`: the
 * session. */
int session_open_samples(void *context, pid_t pid, struct err *err);

/* clients.c */
void session_answer_clients(struct session *s);

/* requests.c */
void request_answer(struct session *s, struct client *v);
/* Sums up what was seen of processes that end; before their events are read again. */
void request_finish_endings(struct session *s);

/* saving.c */
/* Hands nodes that are new to naming. */
void queue_names(struct session *s);
/* It has ended, and others go on: it is packed as the file will hold it, all but its names. */
void put_away(struct session *s, struct target *t);
/* At every turn of the loop: packs these too, where all have been found. */
void put_names_away(struct session *s);
void checkpoint_if_due(struct session *s, uint64_t now);
/* Before we fork, and after it in us: the copy is about what programs have counted up to now. */
void freeze_counts(struct session *s);
void thaw_counts(struct session *s);
/* In a forked copy of us, whose memory stands still: the file as of now. */
void compose_copy(struct session *s, uint64_t now, struct recording *r, struct strbuf *bytes);
int finish(struct session *s, struct session_result *result, struct err *err);

/* snapshots.c */
/* Begins to write what there is now, to a name with %I or a command; "": a name is chosen. Ends the
 * client that asks, or NULL. */
void snapshot_begin(struct session *s, const char *pattern, struct client *asker);
void snapshot_if_due(struct session *s, uint64_t now);
/* Returns when all are written. */
void snapshots_await(struct session *s);

#endif
