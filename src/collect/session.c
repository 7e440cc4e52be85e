#include "collect/session_state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/filters.h"
#include "collect/kin.h"
#include "collect/launch.h"
#include "collect/maps.h"
#include "collect/output.h"
#include "collect/scan.h"
#include "collect/stamps.h"

#define NAMING_EVERY_NS   100000000
#define PROGRESS_EVERY_NS 250000000
#define SHORTEST_NAP_NS   30000 /* less is not worth the system call */

#define LOOKS_APART_NS   20000000
#define PATIENCE_NS      1000000000  /* for programs that sleep and have not said hello */
#define LONG_PATIENCE_NS 10000000000 /* for those that may be about to */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t elapsed_ns(const struct session *s)
{
    return clock_ns(CLOCK_MONOTONIC) - s->start_ns;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct target *live_target(struct session *s, pid_t pid)
{
    for (size_t i = 0; i < s->live.count; i++)
        if (s->live.items[i]->pid == pid)
            return s->live.items[i];
    return NULL;
}

static bool is_gone(const struct session *s, const struct target *t)
{
    struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
    return t->pid == s->program ? s->program_ended
           : t->pidfd >= 0      ? poll(&p, 1, 0) == 1
                                : kill(t->pid, 0) != 0 && errno == ESRCH;
}

void set_status(struct profile *p, int wait_status)
{
    p->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    p->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

/* It was not looked at in time: why? */
static void explain_end(const struct session *s, struct target *t)
{
    if (s->options->no_scan)
        target_explain(t, "nobody looked what points to these blocks: --no-scan");
    else if (t->profile.execed)
        target_explain(t, "the program became another one (exec) before it could be looked at");
    else if (t->profile.signal)
        target_explain(t, "the program was killed by signal %d before it could be looked at",
                       t->profile.signal);
    else
        target_explain(t, "the program ended without a word before it could be looked at: by a "
                          "system call of its own, under a seccomp filter, or with no file "
                          "descriptor left");
}

static void end_target(struct session *s, struct target *t, bool execed)
{
    int status = s->wait_status;
    target_end(t, elapsed_ns(s) - t->start_ns);
    t->profile.complete = true;
    t->profile.execed = execed;
    if (!execed && (t->pid == s->program || kin_status(t->pid, t->pidfd, &status)))
        set_status(&t->profile, status);
    explain_end(s, t);
    if (t->pidfd >= 0)
        close(t->pidfd);
    t->pidfd = -1;
    for (size_t i = 0; i < s->live.count; i++)
        if (s->live.items[i] == t)
            s->live.items[i--] = s->live.items[--s->live.count];
    if (execed || s->live.count) /* after the last one we end soon, and all at once */
        target_let_go(t);
}

static void inherit(struct session *s, struct target *child, uint32_t parent, uint32_t number)
{
    struct target *t = live_target(s, (pid_t)parent);
    for (size_t i = s->targets.count; number && !t && i-- > 0;)
        if (s->targets.items[i]->pid == (pid_t)parent)
            t = s->targets.items[i];
    if (!number || !t)
        return;
    if (!t->ended)
        target_drain(t, elapsed_ns(s) - t->start_ns); /* up to the fork at least */
    child->profile.ppid = parent;                     /* though it may be gone by now */
    inherit_hand_over(t, number, child);
}

static void say_hello(struct session *s, struct visitor *v)
{
    const struct session_options *o = s->options;
    struct target *before = live_target(s, v->pid);
    if (o->no_follow && v->pid != s->program) {
        visitor_reply(v, -ECANCELED, -1, 0, 0);
        return;
    }
    if (before)
        end_target(s, before, !is_gone(s, before)); /* it has become another program */
    struct target *t = target_new(v->pid, v->request.small, o->on_full, o->interval_ns, NULL);
    if (!t)
        t = target_new(v->pid, true, o->on_full, o->interval_ns, NULL);
    if (!t) {
        s->refused++;
        visitor_reply(v, -ENOMEM, -1, 0, 0);
        return;
    }
    t->start_ns = elapsed_ns(s);
    t->start_monotonic_ns = s->start_ns + t->start_ns;
    t->profile.start_unix_ns = s->start_unix_ns + t->start_ns;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    t->profile.host = xstrdup(host);
    t->heap_unknown = v->request.parent != 0;
    inherit(s, t, v->request.parent, v->request.fork);
    scan_prepare(t, v->request.thread_pointer);
    t->mark_on = &s->mark_on;
    t->header->mark_on = (uint32_t)s->mark_on.count;
    t->header->plant_leak = o->plant_leak_bytes;
    t->was_paused = s->paused;
    atomic_store(&t->header->paused, s->paused);
    *vec_push(&s->targets) = t;
    *vec_push(&s->live) = t;
    *vec_push(&s->named) = 0;
    s->alone_since_ns = 0;
    stamp_if_due(t, 0); /* it waits for our answer: even the shortest run has one */
    visitor_reply(v, 0, t->fd, t->size, t->header->ring_count);
    close(t->fd); /* we have it mapped */
    t->fd = -1;
}

static void give_rings(struct session *s, struct visitor *v)
{
    struct target *t = live_target(s, v->pid);
    size_t size = 0;
    int fd = t ? target_more_rings(t, v->request.ring_count, &size) : -ESRCH;
    visitor_reply(v, fd < 0 ? fd : 0, fd, size, v->request.ring_count);
    if (fd >= 0)
        close(fd);
}

static void give_functions(struct session *s, struct visitor *v)
{
    const struct target *t = live_target(s, v->pid);
    mark_on_answer(&s->mark_on, v, t ? t->profile.executable : NULL);
}

/* --- what `tidemark ctl` and the API ask for ---------------------------------------------------
 */

static void pause_all(struct session *s, bool paused)
{
    s->paused = paused;
    for (size_t i = 0; i < s->live.count; i++) {
        s->live.items[i]->was_paused |= paused;
        atomic_store(&s->live.items[i]->header->paused, paused);
    }
}

static void tell_status(struct session *s, struct visitor *v)
{
    uint64_t live = 0, peak = 0, events = 0;
    struct strbuf b = {0};
    for (size_t i = 0; i < s->targets.count; i++)
        events += s->targets.items[i]->events;
    for (size_t i = 0; i < s->live.count; i++) {
        live += s->live.items[i]->ledger.live.bytes;
        peak += s->live.items[i]->ledger.peak_bytes;
    }
    strbuf_printf(&b,
                  "recording for %.1f s%s\n"
                  "processes %zu, %zu of them running\n"
                  "live %llu bytes, peak %llu bytes, %llu events\n"
                  "snapshots %u\n"
                  "file %s\n",
                  (double)elapsed_ns(s) / 1e9, s->paused ? ", paused" : "", s->targets.count,
                  s->live.count, (unsigned long long)live, (unsigned long long)peak,
                  (unsigned long long)events, s->snapshot_count, s->file);
    visitor_tell(v, 0, b.data);
    strbuf_release(&b);
}

/* In the process that is meant, or in all. */
static int mark_from_outside(struct session *s, pid_t about, const char *label)
{
    struct target *one = live_target(s, about);
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

/* It waits: what can only be seen while it lives is looked at now. */
static void see_to_exit(struct session *s, struct visitor *v)
{
    struct target *t = live_target(s, v->pid);
    struct scanning look = {.target = t,
                            .kind = v->request.about == WIRE_EXIT_BEGINS ? SCAN_EXIT : SCAN_END,
                            .waiting = &v->request};
    if (t && !s->options->no_scan)
        scan_look(&look);
    if (t)
        maps_at_exit(t, elapsed_ns(s) - t->start_ns);
    visitor_reply(v, t ? 0 : -ESRCH, -1, 0, 0);
    if (t && !s->options->no_scan)
        scan_finish(&look);
}

static void tell_scan(const struct target *t, struct strbuf *out)
{
    const struct survivors *last = vec_last(&t->scans);
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
    for (int i = REACH_LOST; i < REACHES; i++)
        strbuf_printf(out, "%s %llu bytes in %llu blocks, ", names[i], (unsigned long long)bytes[i],
                      (unsigned long long)blocks[i]);
    strbuf_printf(out, "held for %.1f ms\n", (double)last->scan.held_ns / 1e6);
}

/* In the process that is meant, or in all. */
static void scan_from_outside(struct session *s, struct visitor *v)
{
    struct target *one = live_target(s, (pid_t)v->request.about);
    struct strbuf text = {0};
    int code = s->live.count ? 0 : -ESRCH;
    for (size_t i = 0; i < s->live.count; i++) {
        struct scanning look = {.target = s->live.items[i], .kind = SCAN_ASKED};
        if (one && look.target != one)
            continue;
        scan_look(&look);
        code = look.unreachable ? -EPERM : code;
        scan_finish(&look);
        tell_scan(look.target, &text);
    }
    if (code == -ESRCH)
        visitor_reply(v, code, -1, 0, 0);
    else
        visitor_tell(v, code, text.data);
    strbuf_release(&text);
}

static void answer_request(struct session *s, struct visitor *v)
{
    int code = 0;
    v->text[WIRE_LABEL_SIZE - 1] =
        v->request.kind == WIRE_MARK ? '\0' : v->text[WIRE_LABEL_SIZE - 1];
    switch ((enum wire_request_kind)v->request.kind) {
    case WIRE_SNAPSHOT:
        code = snapshot_begin(s, v->text);
        break;
    case WIRE_MARK:
        code = mark_from_outside(s, (pid_t)v->request.about, v->text);
        break;
    case WIRE_EXITING:
        see_to_exit(s, v);
        return;
    case WIRE_SCAN:
        scan_from_outside(s, v);
        return;
    case WIRE_PAUSE:
    case WIRE_RESUME:
        pause_all(s, v->request.kind == WIRE_PAUSE);
        break;
    case WIRE_STATUS:
        tell_status(s, v);
        return;
    default:
        code = -EINVAL;
    }
    visitor_reply(v, code, -1, 0, 0);
}

static void answer_door(struct session *s)
{
    struct visitor v;
    while (door_answer(&s->door, &v)) {
        if (v.request.kind == WIRE_HELLO)
            say_hello(s, &v);
        else if (v.request.kind == WIRE_MORE_RINGS)
            give_rings(s, &v);
        else if (v.request.kind == WIRE_FUNCTIONS)
            give_functions(s, &v);
        else if (v.request.kind == WIRE_LEFT_ALONE)
            mark_on_left_alone(&s->mark_on, &v);
        else
            answer_request(s, &v);
    }
}

static void reap(struct session *s)
{
    int status;
    siginfo_t ended = {0};
    if (!s->program_ended &&
        waitid(P_PID, (id_t)s->program, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid) {
        if (live_target(s, s->program))
            unseen_last_look(live_target(s, s->program));
        else if (!s->targets.count)
            s->program_filters = filters_of(s->program); /* perhaps why nothing was heard of it */
    }
    if (!s->program_ended && waitpid(s->program, &status, WNOHANG) == s->program) {
        s->program_ended = true;
        s->wait_status = status;
    }
    for (size_t i = s->live.count; i-- > 0;) { /* the last takes the place of one that goes */
        struct target *t = s->live.items[i];
        if (!is_gone(s, t))
            continue;
        if (t->pid != s->program)
            unseen_last_look(t);
        end_target(s, t, false);
    }
}

/*
 * All we know of have ended. Children that were forked but have not allocated yet are waited for,
 * as if they had; others, which may be about to say hello or never will, for a moment.
 */
static bool is_last(struct session *s, uint64_t now)
{
    if (s->live.count || !s->program_ended)
        return false;
    if (s->options->no_follow)
        return true;
    if (now < s->next_look_ns)
        return false;
    struct kin kin = kin_left(s->door.key);
    s->unheard = kin.forked + kin.starting + kin.silent;
    if (!s->alone_since_ns)
        s->alone_since_ns = now;
    s->next_look_ns = now + LOOKS_APART_NS;
    uint64_t alone_ns = now - s->alone_since_ns;
    return !kin.forked && (!kin.starting || alone_ns > LONG_PATIENCE_NS) &&
           (!kin.silent || alone_ns > PATIENCE_NS);
}

/* --- the loop --------------------------------------------------------------------------------- */

/* By nohup, say: blocked for the signalfd it still arrives, and means nothing to us. */
static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void take_signals(struct session *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD)
            continue;
        if (s->program_ended) /* children that go on: asked to stop waiting for them */
            s->abandoned = s->abandoned || !is_ignored(signal);
        else if (signal != SIGINT && signal != SIGQUIT)
            kill(s->program, signal); /* the terminal sends those two to the program itself */
    }
}

static void tell_progress(struct session *s, uint64_t now)
{
    if (!s->options->progress || now < s->next_progress_ns)
        return;
    struct session_status status = {
        .elapsed_ns = now, .program_ended = s->program_ended, .processes = s->unheard};
    for (size_t i = 0; i < s->targets.count; i++) {
        const struct target *t = s->targets.items[i];
        status.events += t->events;
        if (t->ended)
            continue;
        status.processes++;
        status.live_bytes += t->ledger.live.bytes;
        status.peak_bytes += t->ledger.peak_bytes;
    }
    s->options->progress(s->options->context, &status);
    s->next_progress_ns = now + PROGRESS_EVERY_NS;
}

void queue_names(struct session *s)
{
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (!t->ended)
            target_update_code(t);
        naming_add(s->naming, &t->profile, s->named.items[i]);
        s->named.items[i] = t->profile.nodes.count;
    }
}

static void find_names(struct session *s, uint64_t now)
{
    if (now < s->next_naming_ns)
        return;
    queue_names(s);
    s->next_naming_ns = now + NAMING_EVERY_NS;
}

/*
 * How long to sleep so that a ring has used few of its chunks when we wake, judging by the most
 * that one took in the last pass: long sleeps cost less, but short ones keep the events in the
 * cache, and the program from waiting for a chunk.
 */
static long nap_ns(uint64_t words, uint64_t pass_ns, unsigned idle)
{
    if (!words)
        return idle < 200 ? 1000000 : idle < 1000 ? 4000000 : 10000000;
    double fill_ns = (double)pass_ns / (double)words * (WIRE_CHUNK_WORDS * 4);
    return fill_ns < SHORTEST_NAP_NS ? 0 : fill_ns > 1e6 ? 1000000 : (long)fill_ns;
}

static void record(struct session *s)
{
    unsigned idle = 0;
    uint64_t last = elapsed_ns(s);
    for (;;) {
        uint64_t words = 0, most = 0;
        for (size_t i = 0; i < s->live.count; i++) {
            struct target *t = s->live.items[i];
            uint64_t now = elapsed_ns(s) - t->start_ns;
            words += target_drain(t, now);
            stamp_if_due(t, now);
            maps_if_due(t, now);
            most = t->pass_words > most ? t->pass_words : most;
        }
        uint64_t now = elapsed_ns(s);
        find_names(s, now);
        unseen_look(&s->unseen, s->targets.items, s->targets.count, now);
        tell_progress(s, now);
        reap(s);
        checkpoint_if_due(s, now);
        snapshot_if_due(s, now);
        if (s->abandoned || is_last(s, now))
            return;
        idle = words ? 0 : idle + 1;
        struct pollfd wait[2] = {{.fd = s->door.fd, .events = POLLIN},
                                 {.fd = s->signals, .events = POLLIN}};
        struct timespec nap = {.tv_nsec = nap_ns(most, now - last, idle)};
        last = now;
        if (ppoll(wait, 2, &nap, NULL) > 0) {
            answer_door(s);
            take_signals(s);
        }
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    static const int taken[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(&set, taken[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Each living process takes a descriptor. */
int session_run(const struct session_options *o, struct session_result *result, struct err *err)
{
    static struct session s;
    s = (struct session){.options = o, .signals = -1, .door = {.fd = -1}};
    s.unseen.only = o->only;
    s.unseen.no_children = o->no_follow;
    mark_on_init(&s.mark_on, o->mark_on, o->mark_on_count);
    *result = (struct session_result){.status = 125};
    char *trial = output_name(o->output, o->argv[0], 0, err);
    int code = trial ? output_check(trial, err) : -EINVAL;
    free(trial);
    if (code)
        return code;
    surroundings_save(&s.surroundings);
    code = target_check(err);
    if (code)
        return code;
    code = door_open(&s.door, err);
    if (code)
        return code;
    s.signals = open_signals();
    s.start_ns = clock_ns(CLOCK_MONOTONIC);
    s.start_unix_ns = clock_ns(CLOCK_REALTIME);
    code = launch_program(o->argv, o->library, s.door.name, s.door.key, o->only, &s.surroundings,
                          &s.program, err);
    if (code) {
        result->status = code == -ENOENT || code == -ENOTDIR                     ? 127
                         : code == -EMFILE || code == -ENFILE || code == -EAGAIN ? 125
                                                                                 : 126;
        goto out;
    }
    /* Naps of a fraction of a millisecond should be that; only now, as a child would inherit it. */
    prctl(PR_SET_TIMERSLACK, 1000UL);
    s.file = output_name(o->output, o->argv[0], s.program, err);
    s.naming = naming_new();
    s.next_snapshot_ns = o->snapshot_every_ns ? o->snapshot_every_ns : UINT64_MAX;
    s.paused = o->paused;
    record(&s);
    door_close(&s.door);
    code = finish(&s, result, err);
out:
    door_close(&s.door);
    if (s.signals >= 0)
        close(s.signals);
    return code;
}
