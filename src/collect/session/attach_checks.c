#include "collect/session/attach_checks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/proc/proc.h"
#include "collect/session/executable.h"
#include "machine/remote.h"

#define EXECUTES_TURNS 1000 /* of 1 ms */

static bool same_namespace(pid_t pid, const char *name)
{
    struct stat own, its;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    if (stat(path, &own) != 0)
        return true;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
    return stat(path, &its) != 0 || (own.st_dev == its.st_dev && own.st_ino == its.st_ino);
}

static unsigned ptrace_scope(void)
{
    char text[16] = "";
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* Says why the kernel does not permit it. */
static int refused(pid_t pid, const struct proc_status *status, struct err *err)
{
    if (geteuid() && status->euid != geteuid())
        return err_set(err, -EPERM,
                       "process %d belongs to user %u; attach as that user, or as root", (int)pid,
                       status->euid);
    if (geteuid() && (status->uid != status->euid || status->gid != status->egid))
        return err_set(err, -EPERM,
                       "process %d runs a setuid or setgid program; only root may attach to it",
                       (int)pid);
    if (geteuid() && ptrace_scope())
        return err_set(err, -EPERM,
                       "this machine does not let you attach to process %d "
                       "(/proc/sys/kernel/yama/ptrace_scope is %u); attach as root, or have root "
                       "set it to 0",
                       (int)pid, ptrace_scope());
    return err_set(err, -EPERM,
                   "attaching to process %d is not permitted: its program has changed its rights "
                   "or forbids it, or a container lacks the capability SYS_PTRACE; attach as root",
                   (int)pid);
}

static int check_program(pid_t pid, struct err *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    switch (executable_kind(path)) {
    case EXECUTABLE_STATIC:
        return err_set(err, -ENOTSUP,
                       "the program of process %d is linked statically, so tidemark cannot be "
                       "loaded into it; 'tidemark run --only-cpu' can sample such programs",
                       (int)pid);
    case EXECUTABLE_32_BIT:
        return err_set(err, -ENOTSUP,
                       "process %d runs a 32-bit program; tidemark records 64-bit ones", (int)pid);
    case EXECUTABLE_OTHER_LOADER:
        return err_set(err, -ENOTSUP,
                       "the program of process %d uses another C library than glibc (musl, say); "
                       "tidemark records programs of glibc",
                       (int)pid);
    case EXECUTABLE_SANITIZED:
        return err_set(
            err, -ENOTSUP,
            "the program of process %d is built with a sanitizer, whose allocator cannot "
            "be recorded; attach to a build without",
            (int)pid);
    case EXECUTABLE_FOREIGN:
        return err_set(err, -ENOTSUP, "process %d runs a program for another kind of machine",
                       (int)pid);
    default:
        return 0;
    }
}

/* With a shadow stack, a return to an address that no call has put there kills the program. */
static bool has_shadow_stack(pid_t pid)
{
    char text[8192];
    const char *line = proc_read_text(pid, "status", text, sizeof text)
                           ? strstr(text, "\nx86_Thread_features:")
                           : NULL;
    const char *end = line ? strchr(line + 1, '\n') : NULL;
    return line && memmem(line, end ? (size_t)(end - line) : strlen(line), "shstk", 5);
}

/* When another thread executes a program, the first one is a zombie for a moment. */
static bool first_thread_runs(pid_t pid, struct proc_state *state)
{
    for (unsigned turn = 0; strchr("ZX", state->state); turn++) {
        if (state->threads <= 1 || turn == EXECUTES_TURNS)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (!proc_read_state(pid, state))
            *state = (struct proc_state){.state = 'X'};
    }
    return true;
}

int attach_check(pid_t pid, struct err *err)
{
    struct proc_state state;
    struct proc_status status;
    char exe[4096], path[64];
    if (!REMOTE_SUPPORTED)
        return err_set(err, -ENOTSUP,
                       "attaching is not supported on this kind of machine; start the program with "
                       "'tidemark run'");
    if (!proc_read_state(pid, &state))
        return err_set(err, -ESRCH, "there is no process %d", (int)pid);
    if (pid == getpid())
        return err_set(err, -EINVAL, "tidemark cannot attach to itself");
    if (!first_thread_runs(pid, &state))
        return state.threads > 1
                   ? err_set(err, -ENOTSUP,
                             "the first thread of process %d has ended, and others run; tidemark "
                             "cannot attach to such a program; start it with 'tidemark run'",
                             (int)pid)
                   : err_set(err, -ESRCH, "process %d has ended (it is a zombie)", (int)pid);
    if (state.flags & PROC_KERNEL_THREAD)
        return err_set(err, -ENOTSUP, "process %d is a kernel thread", (int)pid);
    proc_read_status(pid, &status);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ESRCH) /* it has no memory: it is ending, or executing a program */
        return proc_read_state(pid, &state) && first_thread_runs(pid, &state)
                   ? err_set(err, -EAGAIN,
                             "process %d has just executed another program; attach again", (int)pid)
                   : err_set(err, -ESRCH, "process %d has ended", (int)pid);
    if (fd < 0)
        return errno == EACCES || errno == EPERM
                   ? refused(pid, &status, err)
                   : err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    close(fd);
    if (status.tracer)
        return err_set(err, -EBUSY,
                       "process %u (a debugger, or strace) traces process %d; end that first",
                       status.tracer, (int)pid);
    if (!proc_read_exe(pid, exe, sizeof exe))
        return refused(pid, &status, err);
    int code = check_program(pid, err);
    if (code)
        return code;
    if (has_shadow_stack(pid))
        return err_set(err, -ENOTSUP,
                       "process %d runs with a shadow stack (CET), which forbids the calls that "
                       "attaching makes; start it with 'tidemark run'",
                       (int)pid);
    if (proc_filters(pid) > proc_filters(getpid()))
        return err_set(err, -EPERM,
                       "process %d runs under a seccomp filter, which may end it for what "
                       "attaching does; start it with 'tidemark run'",
                       (int)pid);
    if (!same_namespace(pid, "net"))
        return err_set(err, -EPERM,
                       "process %d is in another network namespace (a container); run tidemark "
                       "inside, for example: nsenter -t %d -n tidemark attach %d",
                       (int)pid, (int)pid, (int)pid);
    return 0;
}
