/* What `tidemark ctl` and the API ask a session for, and what a program says at its end. */
#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/say.h"
#include "collect/resident/python_arenas.h"
#include "collect/session/attached.h"
#include "collect/session/end_budget.h"
#include "collect/leakscan/stop_threads.h"
#include "collect/resident/maps.h"
#include "collect/leakscan/scan.h"
#include "collect/session/session_state.h"
#include "collect/counting/stamps.h"

static void pause_all(struct session *s, bool paused)
{
    if (s->samples)
        samples_pause(s->samples, paused);
    s->paused = paused;
    for (size_t i = 0; i < s->live.count; i++) {
        s->live.items[i]->was_paused |= paused;
        if (s->live.items[i]->header)
            atomic_store(&s->live.items[i]->header->paused, paused);
    }
}

/*
 * run --dormant. Both moments are marks: what was recorded is exact from "started" to "stopped".
 * A stop comes before its mark and a start after it, so that nothing is recorded outside of them.
 */
static void dormant_all(struct session *s, bool dormant)
{
    if (dormant == s->dormant)
        return;
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
        marks_add(t, dormant ? "stopped" : "started", now_ns);
        if (!dormant)
            target_wake(t);
    }
}

/* The figures of a process that runs are then those of this moment, not of the last tick. */
static void count_until_now(const struct session *s, struct target *t)
{
    if (!t->header)
        return;
    target_drain(t, elapsed_ns(s) - t->start_ns);
    drain_look(t, elapsed_ns(s) - t->start_ns);
}

static void tell_status(struct session *s, struct client *v)
{
    uint64_t live = 0, peak = 0, events = 0;
    struct strbuf b = {0};
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        count_until_now(s, t);
        live += t->ledger.live.bytes;
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
        say(&b, "memory checked %N time(s)\n", s->triggers.looks);
    client_tell(v, 0, b.data);
    strbuf_release(&b);
}

/* In the process that is meant, or in all. */
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
            marks_add(t, label, elapsed_ns(s) - t->start_ns);
    }
    return 0;
}

/* The account and the mappings may each take a third of what is left. A forked process has nearly
 * the same as its parent: the scan comes first there. */
#define PROGRAM_SHARE 3
#define FORKED_SHARE  16
#define ENDINGS_MOST  16 /* looked at and not summed up: each keeps what was seen of it */

/* What is done at the end of a process besides the scan, and what the scan may take. */
struct end_plan {
    bool footprint, maps;
    uint64_t scan_ns, others_ns; /* others_ns: the estimate of the other two */
};

static void leave_out(struct target *t, const char *what, uint64_t cost_ns)
{
    struct strbuf time = {0};
    unit_time(&time, cost_ns);
    if (!t->forked && !t->end_spent_ns) /* many forked ones may be as large as their parent */
        *vec_push(&t->profile.notes) =
            xasprintf("%s at the end was left out: it would have taken about %s, more than the end "
                      "of a process may take; 'tidemark run --scan=full' makes it",
                      what, time.data);
    strbuf_release(&time);
}

static struct end_plan plan_end(const struct session *s, struct target *t)
{
    uint64_t left = end_budget_left(s, t);
    uint64_t footprint_ns = footprint_cost_ns(t), maps_ns = maps_cost_ns(t);
    bool account = !footprint_has_exit(t), capture = !maps_has_exit(t);
    uint64_t share = left / (t->forked ? FORKED_SHARE : PROGRAM_SHARE);
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

/* A process that ends, between the look at it and the sums, which take as long again. Forked
 * workers often end all at once: each waits only for the looks at those before it. */
struct ending {
    struct scanning look;
    struct footprint_look pages;
    uint64_t reserved_ns; /* of the budget, for the sums */
    uint64_t most_ns;     /* that these count for */
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

/* It waits: what can only be seen while it lives is looked at now. */
static void see_to_exit(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (!t || !t->header) {
        client_reply(v, -ESRCH, -1, 0, 0);
        return;
    }
    if (v->request.python_ended)
        t->python.ended = true;
    if (t->dormant) { /* what it has is not known, and must not cost it anything */
        target_explain(t, "not classified: the recorder was dormant when the program ended");
        client_reply(v, 0, -1, 0, 0);
        return;
    }
    if (s->samples) /* whose pages it touched is seen in its memory */
        samples_drain(s->samples, true);
    uint64_t begun = end_budget_start();
    struct end_plan plan = plan_end(s, t);
    struct ending *e = xcalloc(1, sizeof *e);
    e->look = (struct scanning){.target = t,
                                .kind = v->request.exit == WIRE_EXIT_ENDS ? SCAN_END : SCAN_EXIT,
                                .waiting = &v->request,
                                .footprint = plan.footprint ? &e->pages : NULL,
                                .limit_ns = plan.scan_ns};
    queue_names(s); /* they are found while we look */
    uint64_t now_ns = elapsed_ns(s) - t->start_ns;
    if (!s->options->no_scan) {
        if (s->live.count == 1) /* else the others go on */
            session_tell_work(s, "scanning for leaks", 0, 0);
        scan_look(&e->look);
    } else {
        if (e->look.kind == SCAN_EXIT) {
            target_boundary(t, now_ns);
            vec_last(&t->boundaries)->marked = true; /* as scan_look does it */
        }
        target_drain(t, now_ns);
    }
    if (plan.footprint && s->options->no_scan)
        footprint_look(&e->pages, t, FOOTPRINT_EXIT, now_ns, stop_threads_count(t->pid) == 1);
    t->python.ends_early = v->request.exit == WIRE_EXIT_PYTHON;
    if (v->request.exit != WIRE_EXIT_ENDS)
        stamp_at_exit(t, elapsed_ns(s) - t->start_ns, &v->request.held);
    if (plan.maps) {
        maps_at_exit(t, elapsed_ns(s) - t->start_ns);
        if (!t->forked) /* the others have their parent's libraries */
            not_recorded_at_exit(&s->not_recorded, t);
    }
    client_reply(v, 0, -1, 0, 0);
    e->look.waiting = NULL;
    uint64_t most = end_budget_most(plan.others_ns + e->look.estimate_ns); /* with the sums */
    uint64_t spent = end_budget_stop(s, t, begun, e->look.cost_ns, most);
    e->most_ns = most - spent;
    e->reserved_ns = !t->forked ? 0 : spent < e->most_ns ? spent : e->most_ns;
    s->forked_spent_ns += e->reserved_ns;
    *vec_push(&s->endings) = e;
    if (!t->forked || s->endings.count >= ENDINGS_MOST)
        request_finish_endings(s);
}

/* It waits: in a moment its objects will be gone. */
static void see_to_python(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (t && t->header) {
        uint64_t now_ns = elapsed_ns(s) - t->start_ns;
        target_boundary(t, now_ns);
        vec_last(&t->boundaries)->marked = true; /* it stays: what is freed from now on is apart */
        t->python.end_tick = t->tick;
        target_drain(t, now_ns);
        python_arenas_at_end(t, now_ns);
    }
    client_reply(v, t ? 0 : -ESRCH, -1, 0, 0);
}

/* It waits, so all that it did before is there to be read. */
static void give_figures(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (!t || !t->header) {
        client_reply(v, -ESRCH, -1, 0, 0);
        return;
    }
    count_until_now(s, t);
    struct wire_figures figures = {.live_bytes = t->ledger.live.bytes,
                                   .live_blocks = t->ledger.live.blocks,
                                   .total_bytes = t->ledger.allocated_bytes,
                                   .allocations = t->ledger.allocations,
                                   .peak_bytes = target_watched_peak(t)};
    if (v->request.restart_peak)
        target_watch_peak(t);
    client_give(v, &figures, sizeof figures, 1);
}

static void tell_scan(const struct target *t, struct strbuf *out)
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

/* In the process that is meant, or in all. */
static void scan_from_outside(struct session *s, struct client *v)
{
    struct target *one = session_target(s, (pid_t)v->request.process);
    struct strbuf text = {0};
    int code = s->live.count ? 0 : -ESRCH;
    for (size_t i = 0; i < s->live.count; i++) {
        struct scanning look = {
            .target = s->live.items[i], .kind = SCAN_ASKED, .limit_ns = UINT64_MAX};
        if ((one && look.target != one) || !look.target->header)
            continue;
        scan_look(&look);
        code = look.unreachable ? -EPERM : code;
        scan_finish(&look);
        tell_scan(look.target, &text);
    }
    if (code == -ESRCH)
        client_reply(v, code, -1, 0, 0);
    else
        client_tell(v, code, text.data);
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
        see_to_exit(s, v);
        return;
    case WIRE_SCAN:
        if (s->options->sample_bytes) {
            client_tell(v, -EOPNOTSUPP,
                        "allocations are sampled: what points to a block may be in one that was "
                        "not recorded\n");
            return;
        }
        scan_from_outside(s, v);
        return;
    case WIRE_PAUSE:
    case WIRE_RESUME:
        if (s->dormant) {
            client_tell(v, -EBUSY, "the recorder is dormant: 'start' begins to record\n");
            return;
        }
        pause_all(s, v->request.kind == WIRE_PAUSE);
        break;
    case WIRE_START:
    case WIRE_STOP:
        dormant_all(s, v->request.kind == WIRE_STOP);
        break;
    case WIRE_STATUS:
        tell_status(s, v);
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
        see_to_python(s, v);
        return;
    default:
        code = -EINVAL;
    }
    client_reply(v, code, -1, 0, 0);
}
