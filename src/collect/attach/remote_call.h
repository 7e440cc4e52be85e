/*
 * remote_call: makes a thread of another process, which stands still under ptrace, call the kernel
 * or a function, and puts it back as it was.
 *
 * All registers are saved and restored, vectors too, and a system call that the thread was waiting
 * in is begun again by the kernel as after any stop. Signals are blocked meanwhile. System calls are
 * safe wherever the thread stands; of functions the caller must know. All calls must come from the
 * thread that traces.
 *
 * If that one is killed in the middle of a call, the thread puts itself back when the call has ended
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

/* What a thread needs to call the kernel. */
struct remote_way {
    uint64_t system_call;   /* address of an instruction that calls it, with a return behind */
    uint64_t signal_return; /* of the code by which handlers of signals return; 0: not known */
    int memory;             /* /proc/PID/mem, to write to */
};

struct remote_thread {
    pid_t tid;
    int signal; /* that was about to be delivered when it stopped: it must make no call; 0: none */
    bool halts; /* SIGSTOP came in the middle of a call, and waits for its end */
    struct user_regs_struct registers;
    size_t vectors_size;
    char vectors[REMOTE_VECTORS];
    uint64_t signals; /* its mask */
    struct remote_way way;
};

/* Stops one thread; 0, or a negative errno: -EPERM, -ESRCH, -EBUSY (it would not stop). */
int remote_stop(pid_t tid, struct remote_thread *t);
/* Reads the registers of one that was stopped otherwise. */
int remote_save(struct remote_thread *t);
/* Puts all back as it was; it still stands. */
void remote_restore(struct remote_thread *t);
/* Lets it go. */
void remote_release(struct remote_thread *t);

/* What the kernel returned, or a negative errno. */
long remote_syscall(struct remote_thread *t, long number, const uint64_t arguments[6]);

struct remote_place {
    uint64_t stack_end; /* memory for a stack is below */
    uint64_t back;      /* where return_code is (wire/attach_code.h) */
};
/* Calls a function and waits for its end, so long at the most; 0, or a negative errno. */
int remote_function_call(struct remote_thread *t, const struct remote_place *where,
                         uint64_t function, const uint64_t arguments[4], uint64_t limit_ns,
                         uint64_t *result);

#endif
