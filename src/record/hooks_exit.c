/*
 * The end of the program: reports to the collector when it begins, before anything that runs at
 * exit, and again when all of that has run, so that the collector can read what is still there.
 * Waits for the collector.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/python.h"
#include "record/recorder.h"

typedef int main_function(int, char **, char **);

EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*loader_end)(void), void *stack_end);
EXPORT _Noreturn void exit(int status);
EXPORT _Noreturn void _exit(int status);
EXPORT _Noreturn void _Exit(int status);
EXPORT _Noreturn void quick_exit(int status);

static main_function *program_main;
static void (*loaders_end)(void);
static _Atomic uint32_t reported; /* a bit for each enum wire_exit that was reported */
static _Atomic bool began_early;  /* reported already when Python began to end */

#define SAVED_REGISTERS 64 /* bytes below a frame that are more than those take */

static __attribute__((noinline)) void ask_allocator(struct wire_held *out)
{
    struct thread *t = thread_enter();
    if (t) {
        allocator_ask_at_exit(t, OWN_FRAME(), out);
        thread_leave();
    }
}

/* Stores why the process was not read at the end, or that it was. */
static void store_end(enum wire_end what)
{
    if (atomic_load(&recorder.state) == STATE_LIVE && recorder.header)
        atomic_store(&recorder.header->end, (uint32_t)what);
}

/*
 * A child that shares our memory (vfork), or has not connected, has nothing to report. The caller's
 * registers are saved at the top of this frame; what is further down is ours, and what older frames
 * left there keeps nothing alive.
 */
static __attribute__((noinline)) void exiting(enum wire_exit what)
{
    int saved = errno;
    if (atomic_load(&recorder.confined))
        store_end(WIRE_END_FILTER);
    else if (atomic_load(&recorder.state) == STATE_LIVE &&
             sys_call(SYS_getpid) == (long)recorder.pid &&
             !(atomic_fetch_or(&reported, 1u << what) >> what)) {
        struct wire_held held = {0};
        if (what != WIRE_EXIT_ENDS)
            ask_allocator(&held);
        thread_check_name();
        __builtin_unwind_init(); /* registers onto the stack, where the scan finds them */
        store_end(
            recorder_exiting(what, (uintptr_t)__builtin_frame_address(0) - SAVED_REGISTERS, &held));
    }
    errno = saved;
}

/*
 * Threads that still run while others tear down what they use should not run for longer than they
 * would without us: then the program is not made to wait.
 */
static bool has_other_threads(void)
{
    struct stat tasks;
    return sys_call(SYS_newfstatat, (long)AT_FDCWD, "/proc/self/task", &tasks, 0L) < 0
               ? atomic_load(&recorder.several)
               : tasks.st_nlink > 3;
}

static bool is_reported(enum wire_exit what)
{
    return atomic_load(&reported) >> what & 1;
}

/*
 * Python has torn down its interpreter before main returns, and its threads that still run must not
 * be kept waiting then. If there are such threads, or threads of libraries, the end begins here,
 * while everything is still intact.
 */
void exit_python_ends(void)
{
    recorder_python_ends();
    if (!has_other_threads())
        return;
    exiting(WIRE_EXIT_PYTHON);
    atomic_store(&began_early, true);
    atomic_fetch_and(&reported, ~(1u << WIRE_EXIT_PYTHON)); /* it may begin anew, and end again */
}

/* An interpreter that was never told to end is intact, as in a program that only embeds Python. */
static bool python_is_torn_down(void)
{
    if (thread_enter()) /* so that the thread has a state, and can ask */
        thread_leave();
    return python_has_ended();
}

static void begins(void)
{
    if (!atomic_load(&recorder.python) || !has_other_threads() || !python_is_torn_down())
        exiting(WIRE_EXIT_BEGINS);
}

static void ends(void)
{
    if (!has_other_threads())
        exiting(WIRE_EXIT_ENDS);
    else if (!is_reported(WIRE_EXIT_ENDS) && sys_call(SYS_getpid) == (long)recorder.pid)
        store_end(is_reported(WIRE_EXIT_BEGINS) || atomic_load(&began_early) ? WIRE_END_THREADS
                                                                             : WIRE_END_PYTHON);
}

void exit_forget(void)
{
    atomic_store(&reported, 0);
    atomic_store(&began_early, false);
}

static int main_watched(int argc, char **argv, char **environment)
{
    int status = program_main(argc, argv, environment);
    begins();
    return status;
}

/* libc calls it last of all: it runs the destructors of libraries. */
static void end_watched(void)
{
    if (loaders_end)
        loaders_end();
    ends();
}

/* Registered before any other, so that it is called after all of them. */
static void quick_end_watched(void)
{
    ends();
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_end)(void), void *stack_end)
{
    if (!next.__libc_start_main)
        recorder_start();
    program_main = main;
    loaders_end = loader_end;
    at_quick_exit(quick_end_watched);
    return next.__libc_start_main(main_watched, argc, argv, init, fini, end_watched, stack_end);
}

void exit(int status)
{
    if (!next.exit)
        recorder_start();
    begins();
    next.exit(status);
    __builtin_unreachable();
}

void quick_exit(int status)
{
    if (!next.quick_exit)
        recorder_start();
    begins();
    next.quick_exit(status);
    __builtin_unreachable();
}

void _exit(int status)
{
    if (!next._exit)
        recorder_start();
    exiting(WIRE_EXIT_ENDS);
    next._exit(status);
    __builtin_unreachable();
}

void _Exit(int status)
{
    _exit(status);
}

OWN(exit, noreturn);
OWN(_exit, noreturn);
