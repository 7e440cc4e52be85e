/* Takes the patches out of a program again and frees the memory of the session (inject.h). */
#include "collect/attach/inject.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/attach/scratch.h"
#include "collect/attach/stopped_program.h"

#define IDLE_NS UINT64_C(3000000000) /* for all threads to leave the hooks */
/* Of RESTORE_NS, what one process spends on threads that do not stop; another one tries again. */
#define STOP_NS    UINT64_C(3000000000)
#define RESTORE_NS UINT64_C(30000000000) /* for all threads to be stopped at once */
#define CALL_NS    UINT64_C(5000000000)

/* Are all threads stopped? A thread that sleeps in the kernel and cannot be stopped may be waiting
 * for a child that shares its memory (vfork). */
static bool all_are_stopped(const struct stopped_program *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++)
        if (!s->threads.threads.items[i].stopped)
            return false;
    return true;
}

/* Is no thread in a hook, or about to enter or leave one? */
static bool all_are_idle(const struct stopped_program *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        const struct stopped_thread *t = &s->threads.threads.items[i];
        uint64_t pc, busy = 0;
        if (!t->stopped || !t->pointer || !stopped_program_read_pc(t->tid, &pc) ||
            (pc >= s->library->start && pc < s->library->end) ||
            remote_memory_read(&s->modules.memory, t->pointer + (uint64_t)s->table.busy_offset,
                               &busy, sizeof busy) != (ssize_t)sizeof busy ||
            busy)
            return false;
    }
    return true;
}

/* Clears the state that the library keeps for each thread. */
static bool forget_threads(const struct stopped_program *s)
{
    uint64_t none = 0;
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        uint64_t at = s->threads.threads.items[i].pointer + (uint64_t)s->table.thread_offset;
        if (pwrite(s->memory, &none, sizeof none, (off_t)at) != (ssize_t)sizeof none)
            return false;
    }
    return true;
}

/* Makes the library free the memory of the session. It makes system calls and nothing else. */
static int give_back_memory(struct stopped_program *s, struct remote_thread *thread,
                            struct err *err)
{
    struct remote_function f;
    struct scratch scratch = {0};
    struct remote_module *libc = remote_module_named(&s->modules, "libc");
    uint64_t result;
    if (!libc || !remote_way_find(&s->modules, libc, s->memory, &thread->way) ||
        !remote_function(&s->modules, s->library, WIRE_DETACH_FUNCTION, &f))
        return err_set(err, -ENOENT, "the library in the program cannot be called");
    int code = scratch_map(&scratch, thread, err);
    if (code)
        return code;
    struct remote_place where = {scratch.stack_end, scratch.back};
    if (forget_threads(s))
        code = remote_function_call(thread, &where, f.address, (uint64_t[4]){0}, CALL_NS, &result);
    scratch_unmap(&scratch, thread);
    return code ? err_set(err, code, "the library in the program could not free its memory") : 0;
}

static int cannot_read(pid_t pid, int code, struct err *err)
{
    return err_set(err, code, "process %d cannot be read: %s", (int)pid, strerror(-code));
}

int inject_restore(pid_t pid, bool *found, struct err *err)
{
    static struct remote_thread thread; /* large */
    struct stopped_program s;
    struct patience patience = {0};
    int code = stopped_program_open(&s, pid);
    *found = false;
    if (code == -ENOENT)
        return 0;
    if (code)
        return cannot_read(pid, code, err);
    *found = s.table.patched || s.table.live;
    bool done = !*found, restored = !s.table.patched;
    while (!done && !code) {
        code = stop_threads_patiently(&s.threads, pid, 0, STOP_NS, err);
        bool stopped = !code && all_are_stopped(&s);
        if (stopped && !restored) {
            restored =
                stopped_program_entries_are(&s, true) && stopped_program_write_entries(&s, false);
            if (!restored)
                code = err_set(err, -ENOEXEC,
                               "another tool has changed the allocation functions of process %d; "
                               "they were left as they are",
                               (int)pid);
        }
        if (!code && restored &&
            (!s.table.live || (all_are_idle(&s) && stopped_program_find_worker(&s, &thread)))) {
            code = s.table.live ? give_back_memory(&s, &thread, err) : 0;
            done = true;
        }
        stop_threads_end(&s.threads);
        uint64_t waited_ns = patience_waited(&patience, monotonic_ns());
        if (done || code || (restored && waited_ns > IDLE_NS))
            break; /* a thread waits in a hook: the memory stays until the next attach */
        if (!restored && waited_ns > RESTORE_NS)
            code =
                err_set(err, -EBUSY,
                        "the threads of process %d could not be stopped in 30 s, so it keeps the "
                        "changed code; 'tidemark detach %d' tries again",
                        (int)pid, (int)pid);
        nanosleep(&(struct timespec){.tv_nsec = STOPPED_PROGRAM_APART_NS}, NULL);
        int again = code ? 0 : stopped_program_reopen(&s);
        if (again == -ENOENT || again == -ESRCH)
            return 0; /* it has ended, or executed another program: the code is gone */
        if (again)
            return cannot_read(pid, again, err);
        if (code)
            break;
    }
    stopped_program_release(&s);
    return code;
}
