#include "collect/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/door.h"
#include "collect/filters.h"
#include "collect/launch.h"
#include "collect/surroundings.h"
#include "collect/naming.h"
#include "collect/output.h"
#include "collect/stamps.h"
#include "collect/target.h"
#include "store/writer.h"

#define NAMING_EVERY_NS   100000000
#define PROGRESS_EVERY_NS 250000000
#define SHORTEST_NAP_NS   30000 /* less is not worth the system call */

struct session {
    const struct session_options *options;
    struct surroundings surroundings;
    struct door door;
    int signals;
    pid_t program;
    int wait_status;
    bool program_ended, abandoned;
    unsigned program_filters; /* seccomp: when it ended */
    unsigned refused;         /* processes for which there was no memory, or no descriptor */
    uint64_t start_ns, start_unix_ns;
    VEC(struct target *) targets;
    VEC(size_t) named; /* per target: nodes handed to naming */
    struct naming *naming;
    uint64_t next_naming_ns, next_progress_ns;
    char *file;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t elapsed_ns(const struct session *s)
{
    return clock_ns(CLOCK_MONOTONIC) - s->start_ns;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct target *live_target(struct session *s, pid_t pid)
{
    for (size_t i = s->targets.count; i-- > 0;)
        if (s->targets.items[i]->pid == pid && !s->targets.items[i]->ended)
            return s->targets.items[i];
    return NULL;
}

static void end_target(struct session *s, struct target *t, bool execed)
{
    target_end(t, elapsed_ns(s) - t->start_ns);
    t->profile.complete = true;
    t->profile.execed = execed;
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
        end_target(s, before, true); /* the same process has become another program */
    struct target *t = target_new(v->pid, v->request.small, o->on_full, o->interval_ns, NULL);
    if (!t)
        t = target_new(v->pid, true, o->on_full, o->interval_ns, NULL);
    if (!t) {
        s->refused++;
        visitor_reply(v, -ENOMEM, -1, 0, 0);
        return;
    }
    t->start_ns = elapsed_ns(s);
    t->profile.start_unix_ns = s->start_unix_ns + t->start_ns;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    t->profile.host = xstrdup(host);
    *vec_push(&s->targets) = t;
    *vec_push(&s->named) = 0;
    stamp_if_due(t, 0); /* it waits for our answer: even the shortest run has one */
    visitor_reply(v, 0, t->fd, t->size, t->header->ring_count);
    close(t->fd); /* the mapping is enough, and there may be many processes */
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

static void answer_door(struct session *s)
{
    struct visitor v;
    while (door_answer(&s->door, &v)) {
        if (v.request.kind == WIRE_HELLO)
            say_hello(s, &v);
        else if (v.request.kind == WIRE_MORE_RINGS)
            give_rings(s, &v);
        else
            visitor_reply(&v, -EINVAL, -1, 0, 0);
    }
}

static void set_status(struct profile *p, int wait_status)
{
    p->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    p->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

/* How a process ended that is not our child: the kernel keeps it with the pidfd (Linux 6.15 and
 * later). */
static bool ask_pidfd(int pidfd, int *wait_status)
{
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t exit_code;
    } info = {.mask = 1 << 3 /* PIDFD_INFO_EXIT */};
    if (ioctl(pidfd, _IOWR(0xff, 11, info), &info) != 0 || !(info.mask & 1 << 3))
        return false;
    *wait_status = info.exit_code;
    return true;
}

static void reap(struct session *s)
{
    int status;
    siginfo_t ended = {0};
    if (!s->program_ended && !s->targets.count &&
        waitid(P_PID, (id_t)s->program, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
        s->program_filters = filters_of(s->program); /* perhaps why nothing was heard of it */
    if (!s->program_ended && waitpid(s->program, &status, WNOHANG) == s->program) {
        s->program_ended = true;
        s->wait_status = status;
    }
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
        bool gone = t->pid == s->program ? s->program_ended
                    : t->pidfd >= 0      ? poll(&p, 1, 0) == 1
                                         : kill(t->pid, 0) != 0 && errno == ESRCH;
        if (!t->ended && gone)
            end_target(s, t, false);
    }
}

static bool any_alive(const struct session *s)
{
    for (size_t i = 0; i < s->targets.count; i++)
        if (!s->targets.items[i]->ended)
            return true;
    return false;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void take_signals(struct session *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD)
            continue;
        if (s->program_ended)
            s->abandoned = true; /* children that go on: asked to stop waiting for them */
        else if (signal != SIGINT && signal != SIGQUIT)
            kill(s->program, signal); /* the terminal sends those two to the program itself */
    }
}

static void tell_progress(struct session *s, uint64_t now)
{
    if (!s->options->progress || now < s->next_progress_ns)
        return;
    struct session_status status = {.elapsed_ns = now, .program_ended = s->program_ended};
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

static void find_names(struct session *s, uint64_t now)
{
    if (now < s->next_naming_ns)
        return;
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        if (!t->ended)
            target_update_code(t);
        naming_add(s->naming, &t->profile, s->named.items[i]);
        s->named.items[i] = t->profile.nodes.count;
    }
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
        for (size_t i = 0; i < s->targets.count; i++) {
            struct target *t = s->targets.items[i];
            if (t->ended)
                continue;
            uint64_t now = elapsed_ns(s) - t->start_ns;
            words += target_drain(t, now);
            stamp_if_due(t, now);
            most = t->pass_words > most ? t->pass_words : most;
        }
        uint64_t now = elapsed_ns(s);
        find_names(s, now);
        tell_progress(s, now);
        reap(s);
        if ((s->program_ended && !any_alive(s)) || s->abandoned)
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

/* --- the end ---------------------------------------------------------------------------------- */

static void write_target(struct strbuf *out, uint32_t number, const struct target *t,
                         const struct profile *p)
{
    size_t n = t->timeline.slices.count;
    const struct strbuf **rows = xmalloc(n * sizeof *rows);
    size_t *counts = xmalloc(n * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        rows[i] = &t->timeline.slices.items[i].rows;
        counts[i] = t->timeline.slices.items[i].row_count;
    }
    writer_profile(out, number, p, &(struct packed_rows){rows, counts});
    free(rows);
    free(counts);
}

static char *refusal(unsigned processes)
{
    return xasprintf("%u processes were not recorded: the collector had no file descriptor or no "
                     "memory left; raise its limits (ulimit -n, ulimit -v)",
                     processes);
}

/* The program was never heard of: a profile that says so is better than none. */
static struct profile *unseen_program(struct session *s, struct recording *r)
{
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.pid = (uint32_t)s->program,
                          .ppid = (uint32_t)getpid(),
                          .start_unix_ns = s->start_unix_ns,
                          .duration_ns = elapsed_ns(s),
                          .executable = xstrdup(s->options->argv[0]),
                          .host = xstrdup(""),
                          .complete = true};
    for (char *const *a = s->options->argv; *a; a++)
        *vec_push(&p->command) = xstrdup(*a);
    *vec_push(&p->nodes) = (struct node){0};
    unsigned refused = s->refused + s->door.refused;
    *vec_push(&p->notes) =
        refused ? refusal(refused)
        : s->options->only
            ? xasprintf("no program whose name contains what --only asks for was run")
        : s->program_filters > filters_of(getpid())
            ? xasprintf("nothing was recorded of %s: it runs under a seccomp filter, which may "
                        "forbid what recording needs; record it without",
                        s->options->argv[0])
            : xasprintf("nothing could be seen in %s: it is statically linked, "
                        "setuid, or not an ELF program; "
                        "record a dynamically linked build of it",
                        s->options->argv[0]);
    set_status(p, s->wait_status);
    return p;
}

static int finish(struct session *s, struct session_result *result, struct err *err)
{
    struct recording *r = recording_new();
    struct strbuf bytes = {0};
    r->complete = true;
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        int status;
        if (!t->ended) { /* abandoned: it goes on without us */
            atomic_store(&t->header->detached, 1);
            atomic_fetch_add(&t->header->tick, 1);
            target_end(t, elapsed_ns(s) - t->start_ns);
        } else if (t->profile.execed) {
            t->profile.exit_code = -1;
        } else if (t->pid == s->program) {
            set_status(&t->profile, s->wait_status);
        } else if (t->pidfd >= 0 && ask_pidfd(t->pidfd, &status)) {
            set_status(&t->profile, status);
        }
        naming_add(s->naming, &t->profile, s->named.items[i]);
    }
    naming_wait(s->naming);
    unsigned refused = s->refused + s->door.refused;
    writer_begin(&bytes);
    for (size_t i = 0; i < s->targets.count; i++) {
        struct target *t = s->targets.items[i];
        target_finish(t);
        if (i == 0 && refused)
            *vec_push(&t->profile.notes) = refusal(refused);
        naming_fill(s->naming, &t->profile, &r->strings);
        write_target(&bytes, (uint32_t)i, t, &t->profile);
        if (i == 0) {
            result->allocations = t->ledger.allocations;
            result->live_bytes = t->ledger.live.bytes;
            result->live_blocks = t->ledger.live.blocks;
        }
        *vec_push(&r->profiles) = t->profile;
        t->profile = (struct profile){0};
    }
    if (!r->profiles.count) {
        naming_fill(s->naming, unseen_program(s, r), &r->strings);
        writer_profile(&bytes, 0, &r->profiles.items[0], NULL);
    }
    writer_end(&bytes, r);
    int code = output_write(&s->file, &bytes, err);
    strbuf_release(&bytes);
    result->recording = r;
    result->file = s->file;
    s->file = NULL;
    result->status =
        WIFSIGNALED(s->wait_status) ? 128 + WTERMSIG(s->wait_status) : WEXITSTATUS(s->wait_status);
    return code;
}

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

int session_run(const struct session_options *o, struct session_result *result, struct err *err)
{
    static struct session s;
    s = (struct session){.options = o, .signals = -1, .door = {.fd = -1}};
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
    prctl(PR_SET_TIMERSLACK, 1000UL); /* naps of a fraction of a millisecond should be that */
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
    s.file = output_name(o->output, o->argv[0], s.program, err);
    s.naming = naming_new();
    record(&s);
    door_close(&s.door);
    code = finish(&s, result, err);
out:
    door_close(&s.door);
    if (s.signals >= 0)
        close(s.signals);
    return code;
}
