/*
 * stop_threads: all threads of a process stand still, and what they have in their registers.
 *
 * By ptrace: who holds is a thread of its own, with whose end all are let go whatever happened.
 * Threads are seized, not stopped by a signal: the program and its parent see nothing of it. A
 * signal that arrives meanwhile is delivered when the thread goes on. System calls that threads
 * wait in are begun again by the kernel, but for those of signal(7) that never are (epoll_wait,
 * sigtimedwait, semop, io_getevents, and sockets with a timeout): these give EINTR.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_STOP_THREADS_H
#define TIDE_COLLECT_LEAKSCAN_STOP_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct stopped_thread {
    pid_t tid;
    bool stopped;
    int signal;              /* that was about to be delivered; 0: none */
    uint64_t stack, pointer; /* its stack pointer and its thread pointer; 0: not known */
};

struct stopped_threads {
    pid_t pid;
    VEC(struct stopped_thread) threads;
    VEC(uint64_t) registers; /* of all of them */
};

/* All but one, which waits for us and has told where its stack is; 0: really all. In the thread
 * that will let go. 0, or a negative errno and a sentence. */
int stop_threads_begin(struct stopped_threads *h, pid_t pid, pid_t waiting, struct err *err);
/* The same; on a busy machine a thread may take so long to stop. */
int stop_threads_patiently(struct stopped_threads *h, pid_t pid, pid_t waiting,
                           uint64_t patience_ns, struct err *err);
void stop_threads_end(struct stopped_threads *h);
/* How many threads it has; 0: it is gone. */
unsigned stop_threads_count(pid_t pid);

/* Begins to trace one thread and interrupts it, without waiting until it stops; false, and errno: it
 * cannot be. */
bool stop_threads_seize(pid_t tid);

#endif
