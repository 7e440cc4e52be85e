/* Answers the requests that programs make for themselves: to be recorded (hello), more rings,
 * functions to mark. */
#include "collect/session/session_state.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/counting/fork_image.h"
#include "collect/counting/timer_samples.h"
#include "collect/leakscan/scan.h"
#include "collect/proc/proc.h"
#include "collect/resident/process_sizes.h"
#include "collect/session/attached.h"
#include "collect/session/process_end.h"
#include "collect/session/unhooked_libraries.h"

static void inherit(struct session *s, struct target *child, uint32_t parent, uint32_t number)
{
    struct target *t = session_target(s, (pid_t)parent);
    for (size_t i = s->targets.count; number && !t && i-- > 0;)
        if (s->targets.items[i]->pid == (pid_t)parent)
            t = s->targets.items[i];
    if (!number || !t)
        return;
    if (!t->ended)
        target_drain(t, elapsed_ns(s) - t->start_ns); /* at least up to the fork */
    child->profile.ppid = parent;                     /* even if the parent is gone by now */
    if (!*child->profile.executable) {                /* it may not be read (PR_SET_DUMPABLE) */
        free(child->profile.executable);
        child->profile.executable = xstrdup(t->profile.executable);
    }
    fork_image_hand_over(t, number, child);
}

/* How late the collector may notice that a process has ended. */
#define END_NOTICED_LATE_NS 1000000000

/*
 * How long ago a forked process began. It connects at its first allocation, which may be much
 * later. The kernel tells the clock tick in which it began; the age counts from the end of that
 * tick, so that no time is from before the fork. 0 if it began in this tick.
 *
 * A process that was forked after another one had ended does not begin before that end, which is
 * noticed late.
 */
static uint64_t forked_age_ns(const struct session *s, pid_t pid)
{
    struct proc_state state;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t now_ns = clock_ns(CLOCK_BOOTTIME), most_ns = elapsed_ns(s);
    uint64_t since_end_ns = most_ns - s->last_end_ns;
    if (!proc_read_state(pid, &state) || !state.start_ticks)
        return 0;
    uint64_t began_ns = (state.start_ticks + 1) * tick_ns;
    uint64_t age_ns = began_ns < now_ns ? now_ns - began_ns : 0;
    age_ns = age_ns < most_ns ? age_ns : most_ns;
    bool maybe_after = age_ns > since_end_ns && age_ns - since_end_ns < END_NOTICED_LATE_NS;
    return s->last_end_ns && maybe_after ? since_end_ns : age_ns;
}

static void answer_hello(struct session *s, struct client *v)
{
    const struct session_options *o = s->options;
    struct target *before = session_target(s, v->pid);
    bool first = v->pid == s->program;
    if ((o->no_follow && !first) || (o->launcher && first)) {
        client_reply(v, -ECANCELED, -1, 0, 0);
        return;
    }
    if (s->samples) { /* samples show what it has executed meanwhile */
        samples_drain(s->samples, true);
        before = session_target(s, v->pid);
    }
    bool was_sampled = before && !before->header; /* and nothing else so far */
    if (before && !was_sampled)                   /* it has executed another program */
        session_end_target(s, before, !session_is_gone(s, before));
    if (client_has_left(v)) { /* it did not wait for the answer, and runs without being recorded */
        s->left += !v->request.parent; /* the process that forked it reports the others */
        client_leave(v);
        return;
    }
    struct target *t = was_sampled ? before : target_new_bare(v->pid, o->interval_ns);
    if (v->request.first_era > t->eras.now)
        eras_start(&t->eras, v->request.first_era);
    if (target_attach(t, v->request.limited_space, o->on_full, NULL) &&
        target_attach(t, true, o->on_full, NULL)) {
        s->refused++;
        client_reply(v, -ENOMEM, -1, 0, 0);
        if (!was_sampled)
            target_free(t);
        return;
    }
    uint64_t age_ns = v->request.parent && !before ? forked_age_ns(s, v->pid) : 0;
    if (was_sampled)
        target_read_program(t);
    else
        session_begin_target(s, t, age_ns);
    if (age_ns)
        target_begin_late(t, age_ns);
    thread_numbers_begin(&t->thread_numbers, t->pid, v->request.pid_inside);
    attached_hello(s, t);
    t->inheritance.unknown = t->forked = v->request.parent != 0;
    inherit(s, t, v->request.parent, v->request.fork);
    scan_prepare(t, v->request.thread_pointer);
    t->mark_on = &s->mark_on;
    t->header->mark_on = (uint32_t)s->mark_on.count;
    t->header->plant_leak = o->plant_leak_bytes;
    t->header->sample_bytes = t->profile.sample_bytes = o->sample_bytes;
    t->header->sample_seed = o->sample_seed + (s->sampled_count++ << 32);
    t->dormant = s->dormant;
    /* It may have blocks from that time. */
    t->was_dormant = s->dormant || (s->was_dormant && t->forked);
    t->was_paused = s->paused || t->was_dormant;
    atomic_store(&t->header->paused, s->paused);
    atomic_store(&t->header->dormant, s->dormant ? WIRE_DORMANT : 0);
    if (o->no_python)
        t->header->python_size = 0;
    t->header->objects_wanted = t->python.objects_wanted = o->python_objects && !o->no_python;
    if (o->cpu_timer_ns)
        timer_samples_ask(t, o->cpu_timer_ns, o->cpu_signal);
    /* It waits for our answer, so even the shortest run gets one. */
    process_sizes_if_due(t, age_ns);
    t->header->clock_ns = monotonic_ns();
    client_reply(v, 0, t->fd, t->size, t->header->ring_count);
    close(t->fd); /* the memory stays mapped */
    t->fd = -1;
}

static void give_rings(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    size_t size = 0;
    int fd = t && t->header ? target_more_rings(t, v->request.ring_count, &size) : -ESRCH;
    client_reply(v, fd < 0 ? fd : 0, fd, size, v->request.ring_count);
    if (fd >= 0)
        close(fd);
}

static void give_functions(struct session *s, struct client *v)
{
    const struct target *t = session_target(s, v->pid);
    struct wire_function functions[WIRE_FUNCTIONS_MAX];
    uint32_t count =
        mark_on_find(&s->mark_on, v->pid, v->text, t ? t->profile.executable : NULL, functions);
    client_reply_data(v, functions, count * sizeof *functions, count);
}

static void take_left_alone(struct session *s, struct client *v)
{
    mark_on_left_alone(&s->mark_on, v->pid, v->text, v->request.function, v->request.reason);
    client_reply(v, 0, -1, 0, 0);
}

static void take_missed(struct session *s, struct client *v)
{
    struct target *t = session_target(s, v->pid);
    if (v->request.kind == WIRE_LEFT_OUT)
        not_recorded_left_out(&s->not_recorded, v->text, v->request.reason);
    else if (t)
        unhooked_libraries_bound(&s->not_recorded, t, v->text, v->request.missed_before == 1);
    client_reply(v, 0, -1, 0, 0);
}

/* `tidemark ctl` in another pid namespace names a process by the number that it has there. */
static uint32_t process_outside(struct session *s, uint32_t pid)
{
    if (!pid || session_target(s, (pid_t)pid))
        return pid;
    for (size_t i = 0; i < s->live.count; i++)
        if (s->live.items[i]->thread_numbers.pid_inside == pid)
            return (uint32_t)s->live.items[i]->pid;
    return pid;
}

void session_answer_clients(struct session *s)
{
    struct client v;
    while (control_socket_answer(&s->socket, &v)) {
        struct target *asks = session_target(s, v.pid);
        v.request.process = process_outside(s, v.request.process);
        if (asks)
            v.request.thread = thread_numbers_outside(&asks->thread_numbers, v.request.thread);
        if (v.request.kind == WIRE_HELLO) {
            request_finish_endings(s); /* a child inherits what its parent has */
            /* End those that ended before this one began: they must not overlap in time. */
            session_reap(s);
            answer_hello(s, &v);
        } else if (v.request.kind == WIRE_MORE_RINGS)
            give_rings(s, &v);
        else if (v.request.kind == WIRE_FUNCTIONS)
            give_functions(s, &v);
        else if (v.request.kind == WIRE_LEFT_ALONE)
            take_left_alone(s, &v);
        else if (v.request.kind == WIRE_LEFT_OUT || v.request.kind == WIRE_BOUND)
            take_missed(s, &v);
        else
            request_answer(s, &v);
        bool held = v.request.kind == WIRE_HELLO || v.request.kind == WIRE_EXITING;
        if (s->samples)
            samples_waited_for_us(s->samples, v.pid, held ? 0 : (pid_t)v.request.thread, v.came_ns,
                                  v.left_ns);
    }
    request_finish_endings(s);
}
