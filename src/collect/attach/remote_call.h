/*
 * remote_call: makes a thread of another process, which is stopped under ptrace, call the kernel or
 * a function, and then puts the thread back as it was.
 *
 * All registers are saved and restored, vector registers too. If the thread was waiting in a system
 * call, the kernel restarts that as after any stop. Signals are blocked during the call. System
 * calls are safe wherever the thread was stopped; for functions, the caller must know that they are
 * (safe_point.h).
 *
 * Threads: all calls must come from the thread that traces. If the tracing thread is killed in the
 * middle of a call, the stopped thread restores itself when the call has ended
 * (machine/remote_frame.h).
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_CALL_H
#define TIDE_COLLECT_ATTACH_REMOTE_CALL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/err.h"

#define REMOTE_VECTORS 16384

/* What a stopped thread needs to call the kernel. */
struct remote_way {
    uint64_t system_call;   /* address of a system call instruction that is followed by a return */
    uint64_t signal_return; /* address of the code by which signal handlers return; 0: not known */
    int memory;             /* descriptor of /proc/PID/mem, for writing */
};

struct remote_thread {
    pid_t tid;
    /* The signal that was about to be delivered when the thread stopped: it must make no call. 0:
     * none. */
    int signal;
    bool halts; /* SIGSTOP came during a call and is delivered after it */
    struct user_regs_struct registers;
    size_t vectors_size;
    char vectors[REMOTE_VECTORS];
    uint64_t signals; /* the thread's signal mask */
    struct remote_way way;
};

/* Stops one thread. Returns 0, or a negative errno: -EPERM, -ESRCH, -EBUSY (it did not stop). */
int remote_stop(pid_t tid, struct remote_thread *t);
/* Reads the registers of a thread that was stopped by other means. */
int remote_save(struct remote_thread *t);
/* Lets a stopped thread run again. */
void remote_release(struct remote_thread *t);

/* Makes the thread execute a system call. Returns its result, or a negative errno. */
long remote_syscall(struct remote_thread *t, long number, const uint64_t arguments[6]);

struct remote_place {
    uint64_t stack_end; /* the end of memory to use as a stack */
    uint64_t back;      /* the address of return_code (wire/attach_code.h) */
};
/* Calls a function and waits for its end, for at most limit_ns. Returns 0, or a negative errno. */
int remote_function_call(struct remote_thread *t, const struct remote_place *where,
                         uint64_t function, const uint64_t arguments[4], uint64_t limit_ns,
                         uint64_t *result);

#endif
