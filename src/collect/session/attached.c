#include "collect/session/attached.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/older_libc.h"
#include "collect/attach/attach_process.h"
#include "collect/attach/inject.h"
#include "collect/attach/older_blocks.h"
#include "collect/attach/remote_module.h"
#include "collect/leakscan/scan.h"
#include "collect/proc/descendants.h"
#include "collect/proc/proc.h"
#include "collect/resident/footprint.h"
#include "collect/resident/maps.h"
#include "collect/session/end_budget.h"

#define RESTORE_TRIES 20

int attached_begin(struct session *s, struct err *err)
{
    struct attached *a = &s->attached;
    struct wire_attach session = {.library_fd = -1, .drop = s->options->on_full == WIRE_DROP};
    snprintf(session.socket, sizeof session.socket, "%s", s->socket.name);
    memcpy(session.key, s->socket.key, WIRE_KEY_SIZE);
    s->program = s->options->attach_to;
    a->pidfd = (int)syscall(SYS_pidfd_open, s->program, 0);
    a->state = ATTACHING;
    return attach_process_begin(&a->first, s->program, s->options->library, &session,
                                !s->options->only_new, err);
}

void attached_hello(struct session *s, struct target *t)
{
    if (!s->options->attach_to)
        return;
    t->attached = true;
    t->profile.attached.is = true;
}

static bool program_runs(const struct session *s)
{
    struct pollfd p = {.fd = s->attached.pidfd, .events = POLLIN};
    return s->attached.pidfd >= 0 ? poll(&p, 1, 0) == 0 : descendants_runs(s->program);
}

static void take_answer(struct session *s, const struct attach_answer *answer, uint64_t now)
{
    struct attached *a = &s->attached;
    a->err = answer->err;
    a->code = answer->code;
    a->state = answer->code ? FAILED : RECORDING;
    if (answer->code)
        return;
    a->began_ns = now;
    a->stopped_ns = answer->result.stopped_ns;
    for (size_t i = 0; i < s->targets.count; i++) {
        struct profile *p = &s->targets.items[i]->profile;
        if (s->targets.items[i]->pid != s->program)
            continue; /* it is already known as a child */
        p->attached.before = s->options->only_new                            ? BEFORE_NOT_ASKED
                             : answer->result.before.state == HEAP_COUNTED   ? BEFORE_KNOWN
                             : answer->result.before.state == HEAP_OTHER     ? BEFORE_OTHER
                             : answer->result.before.state == HEAP_TOO_LARGE ? BEFORE_TOO_LARGE
                                                                             : BEFORE_STRANGE;
        p->attached.before_blocks = answer->result.before.blocks;
        p->attached.before_bytes = answer->result.before.bytes;
    }
    if (s->options->attached)
        s->options->attached(s->options->context, s->program, answer->result.functions);
}

static bool find_older(void *modules, const struct stopped_threads *h, struct older_blocks *out)
{
    return older_blocks_find(modules, h, out);
}

/* Can its blocks from before the attach be scanned? Only the program's own: a child's are copies of
 * its parent's. */
static bool has_older(const struct session *s, const struct target *t)
{
    return t->pid == s->program && t->profile.attached.before == BEFORE_KNOWN &&
           !t->ledger.lost_events;
}

/* Scans its blocks while it is still recorded. */
static void scan_before_detach(struct session *s)
{
    for (size_t i = 0; i < s->live.count && !s->options->no_scan; i++) {
        struct target *t = s->live.items[i];
        if (!t->header || t->watched.became) /* its memory is gone */
            continue;
        struct scanning look = {.target = t, .kind = SCAN_EXIT, .limit_ns = end_budget_left(s, t)};
        struct remote_modules modules;
        uint64_t begun = end_budget_start();
        bool older = has_older(s, t) && remote_modules_open(&modules, t->pid) == 0;
        look.find_older = older ? find_older : NULL;
        look.older_context = &modules;
        scan_read(&look);
        scan_finish(&look);
        t->profile.attached.reach = look.older_reach;
        if (older)
            remote_modules_release(&modules);
        end_budget_stop(s, t, begun, look.cost_ns, end_budget_most(look.estimate_ns));
    }
}

void attached_leave(struct session *s, struct client *asker)
{
    struct attached *a = &s->attached;
    if (asker) {
        if (a->has_asker || a->state == FAILED) {
            client_reply(asker, -EALREADY, -1, 0, 0);
        } else {
            a->asker = *asker;
            a->has_asker = true;
        }
    }
    a->leaving = true;
}

static void restore(struct session *s, pid_t pid)
{
    struct attached *a = &s->attached;
    struct err err;
    if (attach_process_restore(vec_push(&a->restoring), pid, &err))
        a->restoring.count--;
}

/* Has it executed another program? */
static bool has_become_another(struct session *s)
{
    const struct target *t = session_target(s, s->program);
    return t && t->watched.became;
}

/* Children that were forked since and have not allocated yet: they have not connected. */
struct silent {
    struct session *session;
    VEC(pid_t) parents; /* processes whose children are looked for, in turn; each is here once */
    pid_t parent;       /* the current one of them */
};

/* false: it is in the list already. */
static bool add_parent(struct silent *w, pid_t pid)
{
    for (size_t i = 0; i < w->parents.count; i++)
        if (w->parents.items[i] == pid)
            return false;
    *vec_push(&w->parents) = pid;
    return true;
}

/* A child of vfork uses its parent's memory, and is restored with it. */
static bool shares_memory(pid_t parent, pid_t child)
{
    return syscall(SYS_kcmp, parent, child, KCMP_VM, 0, 0) == 0;
}

static void restore_child(void *context, pid_t pid)
{
    struct silent *w = context;
    struct wire_attached there;
    if (session_target(w->session, pid) || shares_memory(w->parent, pid) ||
        !inject_read(pid, &there) || !there.live ||
        memcmp(there.session.key, w->session->socket.key, WIRE_KEY_SIZE) != 0)
        return;
    if (add_parent(w, pid))
        restore(w->session, pid); /* traces it: a second attempt at the same time would fail */
}

static void restore_silent(struct session *s)
{
    struct silent w = {.session = s};
    add_parent(&w, s->program);
    for (size_t i = 0; i < s->live.count; i++)
        add_parent(&w, s->live.items[i]->pid); /* the program is one of them */
    for (size_t i = 0; i < w.parents.count; i++) {
        w.parent = w.parents.items[i];
        proc_each_child(w.parent, restore_child, &w);
    }
    vec_release(&w.parents);
}

/* Even the recording of a moment has the mappings, and what the resident memory is. */
static void read_at_detach(struct target *t, uint64_t now_ns)
{
    maps_at_detach(t, now_ns);
    if (!t->profile.footprints.count)
        footprint_take(t, FOOTPRINT_PERIODIC, now_ns);
}

static void restore_all(struct session *s)
{
    not_recorded_check_now(&s->not_recorded, s->live.items, s->live.count, elapsed_ns(s));
    scan_before_detach(s);
    s->attached.state = RESTORING;
    for (size_t i = 0; i < s->live.count; i++) {
        struct target *t = s->live.items[i];
        if (!t->header)
            continue;
        if (!t->watched.became)
            read_at_detach(t, elapsed_ns(s) - t->start_ns);
        restore(s, t->pid);
    }
    restore_silent(s);
}

static void await_restored(struct session *s)
{
    struct attached *a = &s->attached;
    for (size_t i = 0; i < a->restoring.count; i++) {
        struct attach_answer answer;
        if (!attach_process_answer(&a->restoring.items[i], false, &answer))
            continue;
        pid_t pid = a->restoring.items[i].target;
        if (answer.code && descendants_runs(pid) && a->tries++ < RESTORE_TRIES &&
            attach_process_restore(&a->restoring.items[i], pid, &answer.err) == 0)
            continue; /* the machine is busy */
        if (answer.code && descendants_runs(pid)) {
            a->err = answer.err;
            a->code = answer.code;
        }
        a->restoring.items[i--] = a->restoring.items[--a->restoring.count];
    }
    if (!a->restoring.count)
        a->state = FINISHED;
}

void attached_turn(struct session *s, uint64_t now)
{
    struct attached *a = &s->attached;
    struct attach_answer answer;
    if (!s->options->attach_to)
        return;
    if (!s->program_ended && !program_runs(s))
        s->program_ended = true;
    if (a->state == ATTACHING && attach_process_answer(&a->first, false, &answer))
        take_answer(s, &answer, now);
    bool due = s->options->duration_ns && now - a->began_ns >= s->options->duration_ns;
    bool asked = a->leaving || due || has_become_another(s);
    if (a->state == RECORDING && asked && !s->program_ended)
        restore_all(s);
    if (a->state == RESTORING)
        await_restored(s);
}

bool attached_is_over(const struct session *s)
{
    return s->attached.state == FAILED || s->attached.state == FINISHED;
}

void attached_end(struct session *s, const char *file)
{
    struct attached *a = &s->attached;
    if (a->pidfd >= 0)
        close(a->pidfd);
    if (!a->has_asker)
        return;
    char *text = a->code ? xasprintf("%s\n", a->err.text)
                         : xasprintf("detached from process %d; its recording is %s\n",
                                     (int)s->program, file ? file : "lost");
    client_reply_text(&a->asker, a->code, text);
    free(text);
    a->has_asker = false;
}
