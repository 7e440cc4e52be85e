#include "collect/session/session_state.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/resident/python_arenas.h"
#include "collect/proc/proc.h"
#include "collect/proc/descendants.h"
#include "collect/session/attached.h"
#include "collect/session/launch.h"
#include "collect/resident/footprint.h"
#include "collect/resident/maps.h"
#include "collect/session/only.h"
#include "collect/session/output.h"
#include "collect/session/process_end.h"
#include "collect/session/relayed_signals.h"
#include "collect/leakscan/scan.h"
#include "collect/counting/threads.h"
#include "collect/resident/process_sizes.h"

#define NAMING_EVERY_NS   100000000
#define NAMING_SOONEST_NS 1000000 /* so that the names of a short run do not all wait for its end */
#define PROGRESS_EVERY_NS 250000000
#define SHORTEST_NAP_NS   30000 /* a shorter one is not worth the system call */
#define BUSY_NAP_NS       1000000
#define LONGEST_NAP_NS    10000000
#define RESTING_NAP_NS    100000000 /* we are woken for all that matters */

#define READINGS_APART  50 /* the pause is so many times what reading one of several took */
#define CHECKS_APART_NS 20000000
/* How long to wait for sleeping programs that have not connected. */
#define PATIENCE_NS      1000000000
#define LONG_PATIENCE_NS 10000000000 /* how long to wait for those that may be about to */

uint64_t elapsed_ns(const struct session *s)
{
    return monotonic_ns() - s->start_ns;
}

/* --- processes -------------------------------------------------------------------------------- */

struct target *session_target(struct session *s, pid_t pid)
{
    return target_find(s->live.items, s->live.count, pid);
}

bool session_is_sampled(const struct session *s)
{
    return s->samples || s->options->cpu_timer_ns;
}

void session_begin_target(struct session *s, struct target *t, uint64_t age_ns)
{
    t->start_ns = elapsed_ns(s) - age_ns;
    t->start_monotonic_ns = s->start_ns + t->start_ns;
    t->profile.start_unix_ns = s->start_unix_ns + t->start_ns;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    t->profile.host = xstrdup(host);
    t->profile.rank1 = s->options->rank1;
    t->profile.ranks = s->options->ranks;
    t->profile.sampling.alone = !s->options->library;
    t->profile.sampling.cpu_period_ns = s->samples ? s->options->sampling.cpu_period_ns : 0;
    t->profile.sampling.wall = s->samples && s->options->sampling.wall;
    if (t->profile.sampling.cpu_period_ns)
        t->profile.sampling.kernel =
            samples_see_kernel(s->samples) ? KERNEL_SAMPLED : KERNEL_ESTIMATED;
    if (s->options->cpu_timer_ns) {
        t->profile.sampling.cpu_period_ns = s->options->cpu_timer_ns;
        t->profile.sampling.timer = true;
    }
    t->profile.sampling.fault_period = s->samples ? s->options->sampling.fault_period : 0;
    if (!s->targets.count && s->options->sampling_refused)
        *vec_push(&t->profile.notes) = xstrdup(s->options->sampling_refused);
    if (s->last_ended) /* it was not the last after all */
        put_away(s, s->last_ended);
    s->last_ended = NULL;
    *vec_push(&s->targets) = t;
    *vec_push(&s->live) = t;
    s->alone_since_ns = 0;
}

struct target *session_add_target(struct session *s, pid_t pid, bool fresh)
{
    struct target *t = target_new_bare(pid, s->options->interval_ns);
    if (pid == s->program && !s->targets.count) {
        t->sampled.before = s->before;
        for (char *const *a = s->options->argv; !t->profile.command.count && *a; a++)
            *vec_push(&t->profile.command) = xstrdup(*a);
    } else if (!fresh) {
        samples_count(t);
        t->sampled.before = t->profile.sampling;
    }
    t->was_paused = s->paused;
    thread_sampled(t, (uint32_t)pid, 0); /* it has a thread, whether that is sampled or not */
    session_begin_target(s, t, 0);
    return t;
}

void session_drain(struct session *s)
{
    for (size_t i = 0; i < s->live.count; i++)
        target_pass(s->live.items[i], elapsed_ns(s) - s->live.items[i]->start_ns);
}

/* Of a process that has ended, only the kernel's name is known. */
bool session_is_wanted(const struct session *s, pid_t pid, const char *name)
{
    const char *only = s->options->only;
    return only_wants_process(only, pid) || (name && only_wants(only, name)) ||
           (pid == s->program && only_wants(only, s->options->argv[0]));
}

/*
 * All known processes have ended. Children that were forked but have not allocated yet are waited
 * for as long as they run. Others, which may be about to connect or never will, are waited for only
 * a moment.
 */
static bool is_last(struct session *s, uint64_t now)
{
    if (s->options->all)
        return s->program_ended;
    if (s->live.count || !s->program_ended)
        return false;
    if (s->options->no_follow)
        return true;
    if (now < s->next_check_ns)
        return false;
    s->next_check_ns = now + CHECKS_APART_NS;
    if (s->samples && (s->unconnected = samples_running(s->samples)))
        return false;
    if (!s->options->library)
        return true;
    struct descendants descendants = descendants_left(s->socket.key);
    s->unconnected = descendants.forked + descendants.starting + descendants.silent;
    if (!s->alone_since_ns)
        s->alone_since_ns = now;
    uint64_t alone_ns = now - s->alone_since_ns;
    return !descendants.forked && (!descendants.starting || alone_ns > LONG_PATIENCE_NS) &&
           (!descendants.silent || alone_ns > PATIENCE_NS);
}

/* --- the loop --------------------------------------------------------------------------------- */

/* For example by nohup: it is blocked for the signalfd and still arrives there, but means nothing
 * to us. */
static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* It may have ended since, or have lost its parents. */
static bool is_recorded(const struct session *s, pid_t pid)
{
    return pid && target_find(s->targets.items, s->targets.count, pid);
}

static void take_signals(struct session *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD)
            continue;
        if (s->options->attach_to && !is_ignored(signal))
            attached_leave(s, NULL);
        if (s->options->attach_to || relayed_signal_is_ours(&info) ||
            is_recorded(s, (pid_t)info.ssi_pid))
            continue;
        if (s->program_ended) /* children still run: the user asks us to stop waiting for them */
            s->abandoned = s->abandoned || !is_ignored(signal);
        else if (relayed_signal(&info, s->program))
            kill(s->program, signal);
    }
}

static struct session_status status_at(const struct session *s, uint64_t now)
{
    struct session_status status = {
        .elapsed_ns = now, .program_ended = s->program_ended, .processes = s->unconnected};
    for (size_t i = 0; i < s->targets.count; i++) {
        const struct target *t = s->targets.items[i];
        status.events += t->events;
        if (t->ended)
            continue;
        status.processes++;
        status.live_bytes += ledger_now(&t->ledger).bytes;
        status.peak_bytes += target_peak_bytes(t);
    }
    return status;
}

static void tell_progress(struct session *s, uint64_t now)
{
    if (!s->options->progress || now < s->next_progress_ns)
        return;
    struct session_status status = status_at(s, now);
    s->options->progress(s->options->context, &status);
    s->next_progress_ns = now + PROGRESS_EVERY_NS;
}

void session_report_work(struct session *s, const char *work, size_t done, size_t total)
{
    if (!s->options->progress)
        return;
    struct session_status status = status_at(s, elapsed_ns(s));
    status.work = work;
    status.done = done;
    status.total = total;
    s->options->progress(s->options->context, &status);
}

static void find_names(struct session *s, uint64_t now)
{
    if (now < s->next_naming_ns)
        return;
    queue_names(s);
    uint64_t since = s->targets.count ? now - s->targets.items[0]->start_ns : 0;
    uint64_t apart = since / 2 > NAMING_SOONEST_NS ? since / 2 : NAMING_SOONEST_NS;
    s->next_naming_ns = now + (apart < NAMING_EVERY_NS ? apart : NAMING_EVERY_NS);
}

/* Is there work, besides reading the rings, that is due at a certain time? If not, what happens
 * next wakes us (wait_for_news). */
static bool has_timed_work(const struct session *s)
{
    return !s->live.count || s->program_ended || s->options->attach_to || session_is_sampled(s) ||
           s->triggers.all.count || s->next_snapshot_ns != UINT64_MAX;
}

/* All processes are dormant, and there is nothing else to do. */
static bool is_resting(const struct session *s)
{
    if (has_timed_work(s))
        return false;
    for (size_t i = 0; i < s->live.count; i++)
        if (!s->live.items[i]->dormant)
            return false;
    return true;
}

/* The longest sleep while there are events. Sampled allocations are few: then it is an interval,
 * and those become longer with time. */
static long busy_nap_ns(const struct session *s)
{
    if (!s->options->sample_bytes)
        return BUSY_NAP_NS;
    uint64_t nap_ns = has_timed_work(s) ? LONGEST_NAP_NS : RESTING_NAP_NS;
    for (size_t i = 0; i < s->live.count; i++)
        if (s->live.items[i]->timeline.length_ns < nap_ns)
            nap_ns = s->live.items[i]->timeline.length_ns;
    return nap_ns < BUSY_NAP_NS ? BUSY_NAP_NS : (long)nap_ns;
}

/*
 * How long to sleep so that a ring has used few of its chunks when we wake, judging by the most
 * that one took in the last pass. Long sleeps cost less. Short sleeps keep the events in the cache,
 * and the program from waiting for a chunk.
 */
static long nap_ns(const struct session *s, uint64_t words, uint64_t pass_ns, unsigned idle)
{
    const long busy_ns = busy_nap_ns(s);
    bool only_samples =
        !s->options->library && !s->options->sampling.wall; /* their rings wake us */
    if (!words) {
        long idle_ns = idle < 200                     ? 1000000
                       : idle < 1000 && !only_samples ? 4000000
                                                      : LONGEST_NAP_NS;
        return idle_ns > busy_ns ? idle_ns : busy_ns;
    }
    double fill_ns = (double)pass_ns / (double)words * (WIRE_CHUNK_WORDS * 4);
    return fill_ns < SHORTEST_NAP_NS ? 0 : fill_ns > (double)busy_ns ? busy_ns : (long)fill_ns;
}

/* false: nothing happened in that time. */
static bool wait_for_news(struct session *s, const struct timespec *nap)
{
    size_t rings = s->samples ? samples_rings(s->samples) : 0;
    size_t processes = nap->tv_nsec > LONGEST_NAP_NS ? s->live.count : 0;
    vec_reserve(&s->waits, rings + CONTROL_SOCKET_POLLED + 1 + processes);
    struct pollfd *wait = s->waits.items;
    size_t others = control_socket_poll(&s->socket, wait);
    wait[others++] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    for (size_t i = 0; i < processes; i++) /* when they end */
        wait[others++] = (struct pollfd){.fd = s->live.items[i]->pidfd, .events = POLLIN};
    if (rings)
        rings = samples_poll(s->samples, wait + others);
    bool any = ppoll(wait, rings + others, nap, NULL) > 0;
    if (any && rings)
        samples_polled(s->samples, wait + others, rings);
    return any;
}

/*
 * Reads each process for a small share of its time. Where there are several, all of them together
 * get as much as one: a program may have many, and need all processors for them. A process that has
 * made a mark does not wait for the others.
 */
static void read_if_due(struct session *s, struct target *t, uint64_t now_ns)
{
    uint64_t begun = elapsed_ns(s);
    bool shares = t->forked || s->live.count > 1;
    bool marked = !t->forked && t->marks.pending.count != t->footprint.marks;
    if (shares && !marked && begun < s->next_reading_ns)
        return;
    maps_if_due(t, now_ns);
    footprint_if_due(t, now_ns);
    python_arenas_if_due(t, now_ns);
    if (shares)
        s->next_reading_ns = begun + (elapsed_ns(s) - begun) * READINGS_APART;
}

/* Nothing is learnt about processes that stay dormant: one checkpoint has them all. */
static void checkpoint_unless_resting(struct session *s, bool resting, uint64_t now)
{
    const pid_t was = s->checkpoint;
    if (!resting)
        s->checkpointed = 0;
    if (resting && !was && s->checkpointed == s->targets.count)
        return;
    checkpoint_if_due(s, now);
    if (resting && s->checkpoint && s->checkpoint != was)
        s->checkpointed = s->targets.count;
}

static void record(struct session *s)
{
    unsigned idle = 0;
    uint64_t last = elapsed_ns(s);
    for (;;) {
        uint64_t words = 0, most = 0;
        if (s->samples)
            samples_drain(s->samples, false);
        for (size_t i = 0; i < s->live.count; i++) {
            struct target *t = s->live.items[i];
            uint64_t now = elapsed_ns(s) - t->start_ns;
            words += target_pass(t, now);
            most = t->pass_words > most ? t->pass_words : most;
            if (t->dormant)
                continue; /* nor do we read it */
            if (process_sizes_if_due(t, now) && session_is_sampled(s)) {
                samples_count(t);
                target_read_program(t);
            }
            if (!s->options->all)
                read_if_due(s, t, now);
        }
        uint64_t now = elapsed_ns(s);
        find_names(s, now);
        put_names_away(s);
        if (s->options->library)
            not_recorded_check(&s->not_recorded, s->targets.items, s->targets.count, now);
        tell_progress(s, now);
        attached_turn(s, now);
        session_reap(s);
        bool resting = is_resting(s);
        checkpoint_unless_resting(s, resting, now);
        snapshot_if_due(s, now);
        if (s->abandoned || attached_is_over(s) || is_last(s, now))
            return;
        idle = words ? 0 : idle + 1;
        struct timespec nap = {.tv_nsec =
                                   resting ? RESTING_NAP_NS : nap_ns(s, most, now - last, idle)};
        last = now;
        if (wait_for_news(s, &nap)) {
            session_answer_clients(s);
            take_signals(s);
        }
    }
}

/* --- session_run ------------------------------------------------------------------------------ */

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

/* Blocks of this size and above get a mapping of their own. Without this, glibc raises the
 * threshold to 32 MiB when such blocks are freed, and keeps what tables leave behind when they
 * grow. */
#define MAPPED_ALONE_BYTES (1 << 20)
/* What glibc keeps of the heap that is free: each process takes some hundred KiB for a moment. */
#define KEPT_FREE_BYTES (4 << 20)

/* Starts the program, or attaches to it. Returns 0, or a negative errno; *status is then that of
 * `tidemark run`. */
static int start(struct session *s, int *status, struct err *err)
{
    const struct session_options *o = s->options;
    if (o->attach_to) {
        *status = 1;
        return attached_begin(s, err);
    }
    struct launch launch = {.argv = o->argv,
                            .library = o->library,
                            .socket = s->socket.name,
                            .key = s->socket.key,
                            .only = o->only,
                            .drop = o->on_full == WIRE_DROP,
                            .inherited = &s->inherited,
                            .prepare = session_open_samples,
                            .context = s};
    int code = launch_program(&launch, &s->program, err);
    bool no_samples = !s->samples && (o->sampling.cpu_period_ns || o->sampling.fault_period);
    bool no_room = code == -EMFILE || code == -ENFILE || code == -EAGAIN;
    if (code)
        *status = no_samples                            ? 125
                  : code == -ENOENT || code == -ENOTDIR ? 127
                  : no_room                             ? 125
                                                        : 126;
    return code;
}

int session_run(const struct session_options *o, struct session_result *result, struct err *err)
{
    static struct session s;
    mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_BYTES);
    s = (struct session){.options = o, .signals = -1, .socket = {.fd = -1}};
    s.not_recorded.only = o->only;
    s.not_recorded.no_children = o->no_follow;
    s.not_recorded.seldom = o->sample_bytes || o->dormant;
    mark_on_init(&s.mark_on, o->mark_on, o->mark_on_count);
    *result = (struct session_result){.status = 125};
    char *trial = output_name(o->output, o->argv[0], INT_MAX, err); /* the longest name */
    int code = trial ? output_check(trial, err) : -EINVAL;
    free(trial);
    if (code)
        return code;
    inherited_limits_save(&s.inherited);
    code = target_check(err);
    if (code)
        return code;
    code = control_socket_open(&s.socket, err);
    if (code)
        return code;
    s.signals = open_signals();
    s.start_ns = monotonic_ns();
    s.checkpoints.apart_cost = o->sample_bytes ? CHECKPOINTS_APART_SAMPLED : CHECKPOINTS_APART_COST;
    s.start_unix_ns = clock_ns(CLOCK_REALTIME);
    code = start(&s, &result->status, err);
    if (code)
        goto out;
    /* Sleeps of a fraction of a millisecond must not take longer. This is set only now because a
     * child would inherit it. */
    prctl(PR_SET_TIMERSLACK, 1000UL);
    s.file = output_name(o->output, o->argv[0], s.program, err);
    /* At normal priority, because programs that go on when it must end could keep it waiting. */
    s.naming = naming_new(o->all);
    s.next_snapshot_ns = o->snapshot_every_ns ? o->snapshot_every_ns : UINT64_MAX;
    for (size_t i = 0; i < o->trigger_count; i++)
        *vec_push(&s.triggers.all) = o->triggers[i];
    s.paused = o->paused || o->dormant;
    s.dormant = s.was_dormant = o->dormant;
    if (s.samples && !o->launcher && (!o->only || session_is_wanted(&s, s.program, NULL)))
        samples_begin(s.samples, session_add_target(&s, s.program, false));
    record(&s);
    session_finish_samples(&s);
    if (s.attached.state == FAILED) {
        code = s.attached.code;
        *err = s.attached.err;
        goto out;
    }
    control_socket_close(&s.socket);
    code = finish(&s, result, err);
    if (!code && s.attached.code) { /* the program's own code could not be restored */
        code = s.attached.code;
        *err = s.attached.err;
        result->status = 1;
    }
out:
    if (o->attach_to)
        attached_end(&s, result->file);
    not_recorded_release(&s.not_recorded);
    control_socket_close(&s.socket);
    if (s.signals >= 0)
        close(s.signals);
    return code;
}
