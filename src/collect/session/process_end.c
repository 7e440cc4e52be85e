#include "collect/session/process_end.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/leakscan/not_scanned.h"
#include "collect/proc/descendants.h"
#include "collect/proc/proc.h"

bool session_is_gone(const struct session *s, const struct target *t)
{
    struct pollfd p = {.fd = t->pidfd, .events = POLLIN};
    return t->pid == s->program ? s->program_ended
           : t->pidfd >= 0      ? poll(&p, 1, 0) == 1
                                : !descendants_runs(t->pid);
}

void set_status(struct profile *p, int wait_status)
{
    p->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    p->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

void session_end_target(struct session *s, struct target *t, bool execed)
{
    int status = s->wait_status;
    if (s->samples)
        samples_end(s->samples, t);
    s->last_end_ns = elapsed_ns(s);
    target_end(t, s->last_end_ns - t->start_ns);
    if (session_is_sampled(s) && !execed)
        samples_settle(t);
    t->profile.complete = true;
    t->profile.execed = execed;
    bool known = t->pid == s->program && !s->options->attach_to;
    if (!execed && (known || descendants_status(t->pid, t->pidfd, &status)))
        set_status(&t->profile, status);
    not_scanned_explain(t, s->options->no_scan && !s->options->sample_bytes);
    if (t->pidfd >= 0)
        close(t->pidfd);
    t->pidfd = -1;
    for (size_t i = 0; i < s->live.count; i++)
        if (s->live.items[i] == t)
            s->live.items[i--] = s->live.items[--s->live.count];
    if (execed || s->live.count)
        put_away(s, t);
    else /* after the last one the session ends soon, and everything at once */
        s->last_ended = t;
}

/* Asks the kernel about a process that has ended, before its pid is given away. */
static void read_last(struct session *s, struct target *t)
{
    not_recorded_check_ended(t);
    if (session_is_sampled(s))
        samples_count(t);
}

/* The program that the collector has started: it is our child. */
static void reap_program(struct session *s)
{
    int status;
    siginfo_t ended = {0};
    if (waitid(P_PID, (id_t)s->program, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid) {
        struct target *t = session_target(s, s->program);
        if (t)
            read_last(s, t);
        else if (!s->targets.count) /* they may be why the program never connected */
            s->program_filters = proc_filters(s->program);
    }
    if (waitpid(s->program, &status, WNOHANG) == s->program) {
        s->program_ended = true;
        s->wait_status = status;
    }
}

void session_reap(struct session *s)
{
    if (!s->options->attach_to && !s->program_ended)
        reap_program(s);
    bool any = false;
    for (size_t i = 0; i < s->live.count; i++) {
        s->live.items[i]->gone = session_is_gone(s, s->live.items[i]);
        any |= s->live.items[i]->gone;
    }
    /* This may end some targets itself. Targets that end meanwhile are ended at the next call:
     * their last samples may not have been read. */
    if (any && s->samples)
        samples_drain(s->samples, true);
    /* The last one takes the place of one that is removed. */
    for (size_t i = s->live.count; i-- > 0;) {
        struct target *t = s->live.items[i];
        if (!t->gone)
            continue;
        if (t->pid != s->program)
            read_last(s, t);
        session_end_target(s, t, false);
    }
}
