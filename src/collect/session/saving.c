/* Writes the file: at the end of a session and at checkpoints. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "collect/proc/proc.h"
#include "collect/session/output.h"
#include "collect/session/packing.h"
#include "collect/session/process_end.h"
#include "collect/session/session_state.h"
#include "store/writer.h"

#define ENDED_IMAGES_BYTES ((size_t)8 << 20)
#define FAULT_NS           1000 /* to copy a page that is shared with a forked copy of us */

/* --- processes that have ended ---------------------------------------------------------------- */

static void name_target(struct session *s, struct target *t)
{
    struct node fresh[1024];
    size_t count;
    while ((count = program_stacks_fresh(&t->program_stacks, fresh, sizeof fresh / sizeof *fresh)))
        naming_add_nodes(s->naming, &t->profile, fresh, count);
    if (t->sampled.stacks_named < t->sampled.stacks.nodes.count)
        naming_add_nodes(s->naming, &t->profile,
                         t->sampled.stacks.nodes.items + t->sampled.stacks_named,
                         t->sampled.stacks.nodes.count - t->sampled.stacks_named);
    t->sampled.stacks_named = t->sampled.stacks.nodes.count;
}

void queue_names(struct session *s)
{
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (!t->ended)
            target_update_code(t);
        if (!t->packed.figures)
            name_target(s, t);
    }
}

/* A child that was forked by a process that has ended, and that has not connected yet, was forked
 * recently: older images can be dropped. */
static void forget_old_images(struct session *s)
{
    size_t left = ENDED_IMAGES_BYTES;
    for (size_t i = s->targets.count; i-- > 0;)
        if (s->targets.items[i]->ended && s->targets.items[i]->inheritance.images.count)
            left -= fork_image_keep(&s->targets.items[i]->inheritance, left);
}

void put_away(struct session *s, struct target *t)
{
    name_target(s, t);
    target_release_events(t);
    packing_figures(t, &s->strings);
    forget_old_images(s);
    *vec_push(&s->unnamed) = t;
}

void put_names_away(struct session *s)
{
    if (!s->unnamed.count || !naming_is_settled(s->naming))
        return;
    for (size_t i = 0; i < s->unnamed.count; i++)
        packing_names(s->unnamed.items[i], s->naming, &s->strings);
    s->unnamed.count = 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static const char *const refused_reason = "the collector had no file descriptor or no memory left; "
                                          "raise its limits (ulimit -n, ulimit -v)";
static const char *const left_reason =
    "the collector was busy when they began, and with --on-full=drop they do not wait";

static char *left_out_note(unsigned processes, const char *reason)
{
    return xasprintf("%u %s not recorded: %s", processes,
                     processes == 1 ? "process was" : "processes were", reason);
}

/* The program never connected: a profile that says so is better than none. */
static struct profile *missing_program(struct session *s, struct recording *r)
{
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.pid = (uint32_t)s->program,
                          .ppid = (uint32_t)getpid(),
                          .start_unix_ns = s->start_unix_ns,
                          .duration_ns = elapsed_ns(s),
                          .executable = xstrdup(s->options->argv[0]),
                          .host = xstrdup(""),
                          .rank1 = s->options->rank1,
                          .ranks = s->options->ranks,
                          .complete = s->program_ended};
    for (char *const *a = s->options->argv; *a; a++)
        *vec_push(&p->command) = xstrdup(*a);
    *vec_push(&p->nodes) = (struct node){0};
    const char *reason = s->refused + s->socket.refused ? refused_reason
                         : s->left                      ? left_reason
                         : s->program_filters > proc_filters(getpid())
                             ? "it runs under a seccomp filter, which may forbid what recording "
                               "needs; record it without"
                             : NULL;
    *vec_push(&p->notes) =
        reason ? xasprintf("nothing was recorded of %s: %s", s->options->argv[0], reason)
               : not_recorded_program_note(&s->not_recorded, s->options->argv[0]);
    set_status(p, s->wait_status);
    return p;
}

/* Did the program never connect, though it was to be recorded? Its children may have. */
static bool program_is_missing(const struct session *s)
{
    for (size_t i = 0; i < s->targets.count; i++)
        if (s->targets.items[i]->pid == s->program)
            return false;
    return (!s->options->only && !s->options->launcher && !s->options->all) ||
           s->targets.count == 0;
}

static void add_default(struct recording *r, const struct recorded_default *d)
{
    *vec_push(&r->defaults) =
        (struct recorded_default){d->kind, xstrdup(d->name), xstrdup(d->text)};
}

/* Makes the bytes of the file. Moves what the targets have gathered into the recording. */
static void compose(struct session *s, struct recording *r, struct strbuf *bytes)
{
    for (size_t i = 0; i < s->options->default_count; i++)
        add_default(r, &s->options->defaults[i]);
    for (size_t i = 0; i < s->not_recorded.suppressions.count; i++)
        add_default(r, &s->not_recorded.suppressions.items[i]);
    r->strings = s->strings;
    s->strings = (struct strpool){0};
    writer_begin(bytes);
    if (program_is_missing(s)) {
        naming_fill(s->naming, missing_program(s, r), NULL, NULL, &r->strings);
        writer_profile(bytes, 0, &r->profiles.items[0], NULL);
    }
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (i == 0 && s->refused + s->socket.refused)
            *vec_push(&t->profile.notes) =
                left_out_note(s->refused + s->socket.refused, refused_reason);
        if (i == 0 && s->left)
            *vec_push(&t->profile.notes) = left_out_note(s->left, left_reason);
        if (i == 0 && s->snapshot_note)
            *vec_push(&t->profile.notes) = xstrdup(s->snapshot_note);
        packing_write(t, s->naming, &r->strings, (uint32_t)r->profiles.count, bytes);
        *vec_push(&r->profiles) = t->profile;
        t->profile = (struct profile){0};
    }
    writer_end(bytes, r);
}

void freeze_counts(struct session *s)
{
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        if (!t->header)
            continue;
        uint64_t now_ns = elapsed_ns(s) - t->start_ns;
        drain_counters(t);
        accounts_freeze(t, now_ns);
    }
}

void thaw_counts(struct session *s)
{
    for (size_t i = 0; i < s->live.count; i++)
        accounts_thaw(s->live.items[i]);
}

void compose_copy(struct session *s, uint64_t now, struct recording *r, struct strbuf *bytes)
{
    naming_go_on(s->naming);
    /* A process that tests whether the collector lives must not reach the copy. */
    control_socket_close(&s->socket);
    setpriority(PRIO_PROCESS, 0, 10);
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (!t->ended) {
            target_pause(t, now - t->start_ns);
            target_explain(t, "the program was still running; 'tidemark ctl %d leaks' scans it",
                           t->pid);
        }
    }
    compose(s, r, bytes);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

/*
 * If the collector is killed, the file has everything up to the last checkpoint. A forked copy
 * writes it, from memory that does not change for it, while the collector continues.
 */
static _Noreturn void write_checkpoint(struct session *s, uint64_t now)
{
    struct strbuf bytes = {0};
    compose_copy(s, now, recording_new(), &bytes);
    _exit(output_write_file(s->file, &bytes) != 0);
}

static uint64_t own_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt;
}

/* Most of what a checkpoint does is for frames of stacks; what is packed is only copied. */
static uint64_t amount_to_write(const struct session *s)
{
    uint64_t amount = s->last_ended ? s->last_ended->program_stacks.states.count : 0;
    for (size_t i = 0; i < s->live.count; i++)
        amount += s->live.items[i]->program_stacks.states.count;
    return amount;
}

/* true: one is still being written. */
static bool checkpoint_goes_on(struct session *s, uint64_t now)
{
    struct rusage usage;
    if (!s->checkpoint)
        return false;
    if (wait4(s->checkpoint, NULL, WNOHANG, &usage) == 0)
        return true;
    uint64_t cost_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    uint64_t own_ns = s->fork_ns + (own_faults() - s->fork_faults) * FAULT_NS;
    s->checkpoints.last_ns = now;
    s->checkpoints.cost_ns = cost_us * 1000 + own_ns;
    s->checkpoint = 0;
    return false;
}

void checkpoint_if_due(struct session *s, uint64_t now)
{
    if (!s->targets.count || checkpoint_goes_on(s, now))
        return;
    uint64_t amount = amount_to_write(s);
    if (!checkpoint_is_due(&s->checkpoints, now, amount) || !output_is_file(s->file))
        return;
    naming_hold(s->naming);
    freeze_counts(s);
    s->fork_faults = own_faults();
    s->checkpoints.amount = amount;
    pid_t writer = fork();
    if (writer == 0)
        write_checkpoint(s, now);
    thaw_counts(s);
    naming_go_on(s->naming);
    s->fork_ns = elapsed_ns(s) - now;
    s->checkpoint = writer > 0 ? writer : 0;
    s->checkpoints.last_ns = now;
}

static void drop_checkpoint(struct session *s)
{
    if (!s->checkpoint)
        return;
    kill(s->checkpoint, SIGKILL);
    waitpid(s->checkpoint, NULL, 0);
    output_discard(s->file, s->checkpoint);
    s->checkpoint = 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

static uint64_t samples_of(const struct target *t)
{
    return t->packed.sampled.cpu_samples + t->packed.sampled.faults;
}

static int busier_first(const void *a, const void *b)
{
    uint64_t x = samples_of(*(struct target *const *)a), y = samples_of(*(struct target *const *)b);
    return (x < y) - (x > y);
}

/* Of many unrelated processes, the busiest comes first in reports. The first profile says what was
 * lost. */
static void order_by_samples(struct session *s)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < s->targets.count; i++) {
        lost += s->targets.items[i]->profile.sampling.lost;
        s->targets.items[i]->profile.sampling.lost = 0;
    }
    if (!s->targets.count)
        return;
    qsort(s->targets.items, s->targets.count, sizeof *s->targets.items, busier_first);
    s->targets.items[0]->profile.sampling.lost = lost;
}

static struct process_figures figures_of(const struct target *t)
{
    struct process_figures f = {.allocations = t->ledger.allocations,
                                .live_bytes = ledger_now(&t->ledger).bytes,
                                .live_blocks = ledger_now(&t->ledger).blocks,
                                .sampled = t->packed.sampled};
    return f;
}

/* The file is complete, and reading it takes memory. What would take long to free piece by piece is
 * left to the end of the process. */
static void give_back(struct session *s)
{
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (t->header)
            munmap(t->header, t->size);
        t->header = NULL;
        target_release_figures(t);
    }
}

static void report_names(void *context, size_t found, size_t asked)
{
    session_report_work(context, "finding names", found, asked);
}

int finish(struct session *s, struct session_result *result, struct err *err)
{
    struct recording *r = recording_new();
    struct strbuf bytes = {0};
    r->complete = true;
    drop_checkpoint(s);
    snapshots_await(s);
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (!t->ended) { /* it continues without us */
            if (t->header) {
                atomic_store(&t->header->detached, 1);
                wire_move_tick(t->header);
            }
            target_end(t, elapsed_ns(s) - t->start_ns);
            target_explain(t, "the program went on when recording ended");
            if (t->attached) /* as the user asked */
                t->profile.complete = t->profile.attached.detached = true;
        }
    }
    for (size_t i = 0; i < s->targets.count; i++) {
        struct packed *k = &s->targets.items[i]->packed;
        packing_count(s->targets.items[i]);
        result->lost_events += k->lost_events;
        result->truncated_stacks += k->truncated_stacks;
        result->incomplete_stacks += k->incomplete_stacks;
    }
    queue_names(s);
    naming_wait(s->naming, report_names, s);
    if (s->options->library)
        not_recorded_explain(&s->not_recorded, s->targets.items, s->targets.count, s->program);
    mark_on_explain(&s->mark_on, s->targets.items, s->targets.count, s->program);
    if (s->options->all)
        order_by_samples(s);
    if (program_is_missing(s)) /* compose begins with a profile that says so */
        *vec_push(&result->figures) = (struct process_figures){0};
    for (size_t i = 0; i < s->targets.count; i++)
        *vec_push(&result->figures) = figures_of(s->targets.items[i]);
    session_report_work(s, "writing the file", 0, 0);
    compose(s, r, &bytes);
    give_back(s);
    int code = output_write(&s->file, &bytes, true, err);
    if (s->file && s->file[0] == '|')
        result->passed_on = bytes;
    else
        strbuf_release(&bytes);
    result->recording = r;
    result->file = s->file;
    s->file = NULL;
    result->status = exit_status(s->wait_status);
    return code;
}
