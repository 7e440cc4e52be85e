/* Answers what `tidemark ctl` and the API ask a session for, and what a program reports at its
 * end. */
#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/say.h"
#include "collect/resident/python_arenas.h"
#include "collect/session/attached.h"
#include "collect/session/end_budget.h"
#include "collect/proc/stop_threads.h"
#include "collect/counting/accounts.h"
#include "collect/resident/maps.h"
#include "collect/leakscan/scan.h"
#include "collect/resident/process_sizes.h"
#include "collect/session/session_state.h"

static void pause_all(struct session *s, bool paused)
{
    if (s->samples)
        samples_pause(s->samples, paused);
    s->paused = paused;
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        if (t->header && paused && !t->was_paused) { /* none of these were of blocks of a pause */
            accounts_note_counters(t);
            accounts_take_unknown(t);
        }
        t->was_paused |= paused;
        if (t->header)
            atomic_store(&t->header->paused, paused);
    }
}

/*
 * For run --dormant. Both moments become marks, and what was recorded is exact from "started" to
 * "stopped". A stop comes before its mark and a start after it, so that nothing is recorded outside
 * of them. Returns what was done, as a line for the user.
 */
static const char *set_dormant(struct session *s, bool dormant)
{
    if (!s->options->library)
        return "nothing is preloaded, and no mark was made: 'pause' and 'resume' are for samples\n";
    if (dormant == s->dormant)
        return dormant     ? "it was dormant already; no mark was made\n"
               : s->paused ? "it is paused: 'resume' continues; no mark was made\n"
                           : "it was recording already; no mark was made\n";
    s->dormant = dormant;
    s->was_dormant = true;
    pause_all(s, dormant);
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        uint64_t now_ns = elapsed_ns(s) - t->start_ns;
        t->stops += dormant;
        t->dormant = dormant;
        if (!t->header)
            continue;
        if (dormant)
            target_put_to_sleep(t);
        process_sizes_mark(t, dormant ? "stopped" : "started", now_ns);
        if (!dormant)
            target_wake(t);
    }
    return dormant ? "dormant; this moment is the mark 'stopped'\n"
                   : "recording; this moment is the mark 'started'\n";
}

/* Updates the figures of a running process to this moment; otherwise they are those of the last
 * tick. */
static void count_until_now(const struct session *s, struct target *t)
{
    if (!t->header)
        return;
    target_drain(t, elapsed_ns(s) - t->start_ns);
    drain_counters(t);
}

static void reply_status(struct session *s, struct client *v)
{
    uint64_t live = 0, peak = 0, events = 0;
    struct strbuf b = {0};
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        count_until_now(s, t);
        live += ledger_now(&t->ledger).bytes;
        peak += target_peak_bytes(t);
    }
    for (size_t i = 0; i < s->targets.count; i++)
        events += s->targets.items[i]->events;
    say(&b,
        "recording for %T%r\nprocesses %d, %d of them running\nlive %B, peak %B, %N "
        "event(s)\nsnapshots %d\nfile %r\n",
        elapsed_ns(s),
        s->dormant  ? ", dormant"
        : s->paused ? ", paused"
                    : "",
        s->targets.count, s->live.count, live, peak, events, s->snapshot_count, s->file);
    if (s->triggers.all.count)
        say(&b, "memory checked %N time(s)\n", s->triggers.checks);
    client_reply_text(v, 0, b.data);
    strbuf_release(&b);
}

/* Marks the process that is meant, or all. */
static int mark_from_outside(struct session *s, pid_t about, const char *label)
{
    struct target *one = session_target(s, about);
    if (!*label)
        return -EINVAL;
    if (!s->live.count)
        return -ESRCH;
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        if (!one || t == one)
            process_sizes_mark(t, label, elapsed_ns(s) - t->start_ns);
    }
    return 0;
}

/* The account of resident memory and the mappings may each take a third of what is left. In a
 * forked process both are nearly the same as its parent's, so the scan comes first there. */
#define PROGRAM_SHARE 3
#define FORKED_SHARE  16
/* If allocations are sampled, the mappings may take so much: 0.2 % of the run, or 2 ms. */
#define SAMPLED_SHARE    500
#define SAMPLED_LEAST_NS 2000000
#define ENDINGS_MOST     16 /* processes that were read but not summed up; each keeps its data */

/* What is done at the end of a process besides the scan, and what the scan may cost. */
struct end_plan {
    bool footprint, maps;
    uint64_t scan_ns, others_ns; /* others_ns: the estimate of the other two steps */
};

/* A process is asked twice: when it begins to end, and after its destructors. */
static bool was_left_out(const struct target *t, const char *what)
{
    for (size_t i = 0; i < t->profile.notes.count; i++)
        if (strncmp(t->profile.notes.items[i], what, strlen(what)) == 0)
            return true;
    return false;
}

static void leave_out(struct target *t, const char *what, uint64_t cost_ns)
{
    struct strbuf time = {0};
    unit_time(&time, cost_ns);
    /* Many forked processes may be as large as their parent. */
    if (!t->forked && !t->end_spent_ns && !was_left_out(t, what))
        *vec_push(&t->profile.notes) =
            xasprintf("%s at the end was left out: it would have taken about %s, more than the end "
                      "of a process may take%s",
                      what, time.data,
                      t->profile.sample_bytes ? " when allocations are sampled"
                                              : "; 'tidemark run --scan=full' makes it");
    strbuf_release(&time);
}

static struct end_plan plan_end(const struct session *s, struct target *t)
{
    uint64_t left = end_budget_left(s, t);
    uint64_t footprint_ns = footprint_cost_ns(t), maps_ns = maps_cost_ns(t);
    bool account = !footprint_has_exit(t), capture = !maps_has_exit(t);
    uint64_t share = left / (t->forked ? FORKED_SHARE : PROGRAM_SHARE);
    if (t->profile.sample_bytes) {
        uint64_t ran_ns = elapsed_ns(s) - t->start_ns, most_ns = ran_ns / SAMPLED_SHARE;
        most_ns = most_ns > SAMPLED_LEAST_NS ? most_ns : SAMPLED_LEAST_NS;
        share = share < most_ns ? share : most_ns;
    }
    struct end_plan plan = {.footprint = account && footprint_ns <= share,
                            .maps = capture && maps_ns <= share,
                            .scan_ns = left};
    if (account && !plan.footprint)
        leave_out(t, "the account of resident memory", footprint_ns);
    if (capture && !plan.maps)
        leave_out(t, "the list of mappings", maps_ns);
    plan.others_ns = (plan.footprint ? footprint_ns : 0) + (plan.maps ? maps_ns : 0);
    if (left != UINT64_MAX)
        plan.scan_ns -= plan.others_ns;
    return plan;
}

/* A process that ends, after its memory was read and before the sums, which take as long again.
 * Forked workers often end all at once: each waits only until those before it have been read. */
struct ending {
    struct scanning look;
    struct footprint_reading pages;
    uint64_t reserved_ns; /* a part of the budget for the sums */
    uint64_t most_ns;     /* the most that the sums count for */
};

static void finish_ending(struct session *s, struct ending *e)
{
    struct target *t = e->look.target;
    uint64_t begun = end_budget_start();
    s->forked_spent_ns -= e->reserved_ns;
    if (e->look.footprint)
        footprint_finish(&e->pages, t);
    if (!s->options->no_scan)
        scan_finish(&e->look);
    end_budget_stop(s, t, begun, 0, e->most_ns);
    free(e);
}

void request_finish_endings(struct session *s)
{
    for (size_t i = 0; i < s->endings.count; i++)
        finish_ending(s, s->endings.items[i]);
    s->endings.count = 0;
}

static bool is_ending(const struct session *s, pid_t pid)
{
    for (size_t i = 0; i < s->endings.count; i++)
        if (s->endings.items[i]->look.target->pid == pid)
            return true;
    return false;
}

/* The process waits: everything that can only be seen while it lives is read now. */
static void read_before_exit(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (!t || !t->header) {
        client_reply(v, -ESRCH, -1, 0, 0);
        return;
    }
    if (v->request.python_ended)
        t->python.ended = true;
    if (t->dormant) { /* what it allocated is not known, and must not cost it anything */
        target_explain(t, "not classified: the recorder was dormant when the program ended");
        client_reply(v, 0, -1, 0, 0);
        return;
    }
    if (s->samples) /* the owners of touched pages are found in its memory */
        samples_drain(s->samples, true);
    uint64_t begun = end_budget_start();
    struct end_plan plan = plan_end(s, t);
    struct ending *e = xcalloc(1, sizeof *e);
    e->look = (struct scanning){.target = t,
                                .kind = v->request.exit == WIRE_EXIT_ENDS ? SCAN_END : SCAN_EXIT,
                                .waiting = &v->request,
                                .footprint = plan.footprint ? &e->pages : NULL,
                                .limit_ns = plan.scan_ns};
    bool stands_still = stop_threads_count(t->pid) == 1;
    struct proc_still still = {0};
    if (stands_still)
        block_index_hold(t);
    if (stands_still && plan.maps) {
        count_until_now(s, t); /* the mappings of blocks are marked, so their sites must be known */
        maps_read_still(t, &still);
    }
    queue_names(s); /* they are found while we read */
    uint64_t now_ns = elapsed_ns(s) - t->start_ns;
    if (!s->options->no_scan) {
        if (s->live.count == 1) /* otherwise the other processes go on */
            session_report_work(s, "scanning for leaks", 0, 0);
        scan_read(&e->look);
    } else {
        if (e->look.kind == SCAN_EXIT)
            target_boundary_kept(t, now_ns); /* as scan_read does */
        target_drain(t, now_ns);
    }
    if (plan.footprint && s->options->no_scan)
        footprint_read(&e->pages, t, FOOTPRINT_EXIT, now_ns, stands_still);
    t->python.ends_early = v->request.exit == WIRE_EXIT_PYTHON;
    if (v->request.exit != WIRE_EXIT_ENDS)
        process_sizes_at_exit(t, elapsed_ns(s) - t->start_ns, &v->request.held);
    if (plan.maps)
        maps_at_exit(t, elapsed_ns(s) - t->start_ns);
    if ((plan.maps || t->profile.sample_bytes) &&
        !t->forked) /* forked processes have their parent's libraries */
        not_recorded_at_exit(&s->not_recorded, t);
    maps_forget_still(t);
    if (stands_still)
        block_index_release(t);
    client_reply(v, 0, -1, 0, 0);
    e->look.waiting = NULL;
    uint64_t most = end_budget_most(plan.others_ns + e->look.estimate_ns); /* including the sums */
    uint64_t spent = end_budget_stop(s, t, begun, e->look.cost_ns, most);
    e->most_ns = most - spent;
    e->reserved_ns = !t->forked ? 0 : spent < e->most_ns ? spent : e->most_ns;
    s->forked_spent_ns += e->reserved_ns;
    *vec_push(&s->endings) = e;
    if (!t->forked || s->endings.count >= ENDINGS_MOST)
        request_finish_endings(s);
}

/* The process waits: its Python objects will be freed in a moment. */
static void read_before_python_frees(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (t && t->header) {
        uint64_t now_ns = elapsed_ns(s) - t->start_ns;
        target_boundary_kept(t, now_ns);
        t->python.end_tick = t->tick;
        target_drain(t, now_ns);
        python_arenas_at_end(t, now_ns);
    }
    client_reply(v, t ? 0 : -ESRCH, -1, 0, 0);
}

/* The process waits, so everything that it did before can be read. */
static void give_figures(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (!t || !t->header) {
        client_reply(v, -ESRCH, -1, 0, 0);
        return;
    }
    count_until_now(s, t);
    struct wire_figures figures = {.live_bytes = ledger_now(&t->ledger).bytes,
                                   .live_blocks = ledger_now(&t->ledger).blocks,
                                   .total_bytes = t->ledger.allocated_bytes,
                                   .allocations = t->ledger.allocations,
                                   .peak_bytes = target_watched_peak(t)};
    if (v->request.restart_peak)
        target_watch_peak(t);
    client_reply_data(v, &figures, sizeof figures, 1);
}

static void reply_scan(const struct target *t, struct strbuf *out)
{
    const struct live_summary *last = vec_last(&t->scan.results);
    uint64_t blocks[REACHES] = {0}, bytes[REACHES] = {0};
    for (size_t i = 0; i < last->rows.count; i++) {
        blocks[last->rows.items[i].reach] += last->rows.items[i].blocks;
        bytes[last->rows.items[i].reach] += last->rows.items[i].bytes;
    }
    strbuf_printf(out, "process %d: ", t->pid);
    if (last->scan.unreachable) {
        strbuf_printf(out, "%s\n", last->scan.unreachable);
        return;
    }
    static const char *const names[] = {
        [REACH_LOST] = "lost", [REACH_INDIRECT] = "indirect", [REACH_REACHABLE] = "reachable"};
    for (int i = REACH_LOST; i < REACHES; i++) {
        if (!blocks[i] && i != REACH_LOST)
            continue;
        say(out, "%r %B in %N block(s), ", names[i], bytes[i], blocks[i]);
    }
    say(out, "stopped for %T\n", last->scan.held_ns);
}

/* Scans the process that is meant, or all. */
static void scan_from_outside(struct session *s, struct client *v)
{
    struct target *one = session_target(s, (pid_t)v->request.process);
    struct strbuf text = {0};
    int code = s->live.count ? -EOPNOTSUPP : -ESRCH;
    for (size_t i = 0; i < s->live.count; i++) {
        struct scanning look = {
            .target = s->live.items[i], .kind = SCAN_ASKED, .limit_ns = UINT64_MAX};
        if ((one && look.target != one) || !look.target->header)
            continue;
        scan_read(&look);
        code = look.unreachable ? -EPERM : code == -EPERM ? code : 0;
        scan_finish(&look);
        reply_scan(look.target, &text);
    }
    if (code == -ESRCH)
        client_reply(v, code, -1, 0, 0);
    else if (code == -EOPNOTSUPP)
        client_reply_text(v, code, "there are no blocks to scan: the heap is not recorded\n");
    else
        client_reply_text(v, code, text.data);
    strbuf_release(&text);
}

void request_answer(struct session *s, struct client *v)
{
    int code = 0;
    if (v->request.kind != WIRE_EXITING || is_ending(s, v->pid))
        request_finish_endings(s);
    if (v->request.kind == WIRE_MARK)
        v->text[wire_label_size(v->text)] = '\0';
    switch ((enum wire_request_kind)v->request.kind) {
    case WIRE_SNAPSHOT:
    case WIRE_LOOK:
        snapshot_begin(s, v->text, v);
        return;
    case WIRE_MARK:
        code = mark_from_outside(s, (pid_t)v->request.process, v->text);
        break;
    case WIRE_EXITING:
        read_before_exit(s, v);
        return;
    case WIRE_SCAN:
        if (s->options->sample_bytes) {
            client_reply_text(
                v, -EOPNOTSUPP,
                "allocations are sampled: what points to a block may be in one that was "
                "not recorded\n");
            return;
        }
        scan_from_outside(s, v);
        return;
    case WIRE_PAUSE:
    case WIRE_RESUME:
        if (s->dormant) {
            client_reply_text(v, -EBUSY, "the recorder is dormant: 'start' begins to record\n");
            return;
        }
        pause_all(s, v->request.kind == WIRE_PAUSE);
        break;
    case WIRE_START:
    case WIRE_STOP:
        client_reply_text(v, 0, set_dormant(s, v->request.kind == WIRE_STOP));
        return;
    case WIRE_STATUS:
        reply_status(s, v);
        return;
    case WIRE_DETACH:
        if (s->options->attach_to) {
            attached_leave(s, v);
            return;
        }
        code = -ENOTSUP;
        break;
    case WIRE_FIGURES:
        give_figures(s, v);
        return;
    case WIRE_PYTHON_ENDS:
        read_before_python_frees(s, v);
        return;
    default:
        code = -EINVAL;
    }
    client_reply(v, code, -1, 0, 0);
}
