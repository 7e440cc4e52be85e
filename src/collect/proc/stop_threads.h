/*
 * stop_threads: stops all threads of a process and reads their registers.
 *
 * It uses ptrace from a thread of its own: when that thread ends, for whatever reason, the kernel
 * releases all stopped threads. Threads are seized, not stopped by a signal, so the program and its
 * parent do not notice. A signal that arrives meanwhile is delivered when the thread continues. The
 * kernel restarts the system calls that threads wait in, except those that signal(7) lists as never
 * restarted (epoll_wait, sigtimedwait, semop, io_getevents, and sockets with a timeout): these
 * return EINTR.
 */
#ifndef TIDE_COLLECT_PROC_STOP_THREADS_H
#define TIDE_COLLECT_PROC_STOP_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct stopped_thread {
    pid_t tid;
    bool stopped;
    bool ended;              /* the thread ended while we waited for the others; it is left out */
    int signal;              /* the signal that was about to be delivered; 0: none */
    uint64_t stack, pointer; /* its stack pointer and its thread pointer; 0: not known */
};

struct stopped_threads {
    pid_t pid;
    VEC(struct stopped_thread) threads;
    VEC(pid_t) listed;       /* all threads, while they are being stopped */
    VEC(uint64_t) registers; /* the registers of all threads */
};

/* Stops all threads except `waiting`, which waits for the collector and has reported where its
 * stack is; if `waiting` is 0, stops all. Call it in the thread that will call stop_threads_end.
 * Returns 0, or a negative errno and a sentence. */
int stop_threads_begin(struct stopped_threads *h, pid_t pid, pid_t waiting, struct err *err);
/* stop_threads_begin with another time limit, because on a busy machine a thread may take long to
 * stop. */
int stop_threads_patiently(struct stopped_threads *h, pid_t pid, pid_t waiting,
                           uint64_t patience_ns, struct err *err);
void stop_threads_end(struct stopped_threads *h);
/* The number of threads of a process; 0: it has ended. */
unsigned stop_threads_count(pid_t pid);

/*
 * A thread sleeps in the kernel and cannot be woken. Is it enough to know its system call? `call`
 * is what /proc says of it. In vfork it may sleep for as long as a child likes. Other calls are
 * waited for a while, because registers are known only of a thread that has stopped. A thread that
 * is in no call waits for a page, or is frozen: nothing is known of it, not even its stack.
 */
bool stop_threads_sleeps(const char *call, uint64_t waited_ns);

/* Begins to trace one thread and interrupts it, without waiting until it stops. false and errno:
 * the thread cannot be traced. */
bool stop_threads_seize(pid_t tid);

#endif
