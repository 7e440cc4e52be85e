#include "collect/proc/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/older_libc.h"
#include "collect/proc/proc.h"

/* The kernel keeps the exit status with the pidfd after the process was waited for (Linux 6.15 and
 * later). */
static bool ask_pidfd(int pidfd, int *wait_status)
{
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t exit_code;
    } info = {.mask = 1 << 3 /* PIDFD_INFO_EXIT */};
    if (ioctl(pidfd, _IOWR(0xff, 11, info), &info) != 0 || !(info.mask & 1 << 3))
        return false;
    *wait_status = info.exit_code;
    return true;
}

static bool is_dead(const struct proc_state *s)
{
    return s->state == 'Z' || s->state == 'X';
}

/*
 * A pidfd stands for the whole process. The first thread may end long before the others, and /proc
 * shows the process as a zombie then. Without a pidfd (Linux before 5.3, or no descriptor left),
 * /proc is asked, and if that fails, whether the process exists at all.
 */
bool descendants_runs(pid_t pid)
{
    struct proc_state state;
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (p.fd >= 0) {
        bool runs = poll(&p, 1, 0) == 0;
        close(p.fd);
        return runs;
    }
    if (errno != ESRCH && proc_read_state(pid, &state))
        return !is_dead(&state) || state.threads > 1;
    return kill(pid, 0) == 0 || errno == EPERM;
}

/* Until it is waited for, the process is a zombie and its exit status is in stat, for those who may
 * read it. The owner of its folder is its user; the owner of the files in it may be another. */
static bool ask_zombie(pid_t pid, int *wait_status)
{
    char folder[64];
    struct proc_state state;
    struct stat owner;
    snprintf(folder, sizeof folder, "/proc/%d", pid);
    if (stat(folder, &owner) != 0 || (geteuid() != 0 && owner.st_uid != geteuid()) ||
        !proc_read_state(pid, &state) || state.state != 'Z')
        return false;
    *wait_status = state.wait_status;
    return true;
}

bool descendants_status(pid_t pid, int pidfd, int *wait_status)
{
    if (pidfd < 0)
        return false;
    if (ask_pidfd(pidfd, wait_status))
        return true;
    /* If it is still a zombie, the PID was its own when we read the status; otherwise somebody has
     * waited for it. */
    if (ask_zombie(pid, wait_status) && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0)
        return true;
    return ask_pidfd(pidfd, wait_status);
}

/* A process of our user may forbid us to read it (PR_SET_DUMPABLE). If it is in our process group,
 * where the program is, it was forked from a process of ours. */
static bool is_closed_descendant(pid_t pid, const struct proc_state *state)
{
    struct proc_status status;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    int fd = state->group == (uint32_t)getpgrp() ? open(path, O_RDONLY | O_CLOEXEC) : 0;
    bool closed = fd < 0 && errno == EACCES;
    if (fd > 0)
        close(fd);
    return closed && proc_read_status(pid, &status) && status.uid == getuid() &&
           status.euid == geteuid();
}

/* Does a file of /proc contain a text? 1 or 0; -1: the file can be read, but is empty. */
static int proc_holds(pid_t pid, const char *name, const char *text)
{
    static char buffer[65536];
    size_t size = strlen(text), kept = 0;
    char path[64];
    if (size > sizeof buffer / 2)
        return 0; /* what is kept of a read leaves room for the next one */
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC), found = fd >= 0 ? -1 : 0;
    for (ssize_t n; fd >= 0 && found != 1;) {
        n = read(fd, buffer + kept, sizeof buffer - kept);
        if (n <= 0)
            break;
        size_t all = kept + (size_t)n;
        found = memmem(buffer, all, text, size) != NULL;
        kept = all < size ? all : size; /* the text may lie across two reads */
        memmove(buffer, buffer + all - kept, kept);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static void count_process(struct descendants *descendants, pid_t pid, const char *key,
                          uint64_t since_ticks)
{
    struct proc_state state;
    if (!proc_read_state(pid, &state) || is_dead(&state) || state.start_ticks < since_ticks)
        return;
    int ours = proc_holds(pid, "environ", key);
    if (ours < 0 && !(state.flags & PROC_KERNEL_THREAD) && proc_read_state(pid, &state) &&
        state.environment_end)
        ours = proc_holds(pid, "environ", key); /* it has just executed a program */
    if (!ours && is_closed_descendant(pid, &state))
        descendants->forked++;
    if (!ours)
        return;
    if (ours < 0) {
        /* In the middle of exec it has no environment yet: it may be one of ours. */
        if (!(state.flags & PROC_KERNEL_THREAD) && !state.environment_end)
            descendants->starting++;
    } else if (proc_holds(pid, "maps", "/memfd:tidemark") > 0) {
        descendants->forked++;
    } else if (state.state == 'S') {
        descendants->silent++;
    } else {
        descendants->starting++;
    }
}

struct descendants descendants_left(const char *key)
{
    struct descendants descendants = {0};
    struct proc_state own = {0}; /* if it cannot be read, all processes are examined */
    proc_read_state(getpid(), &own);
    DIR *all = opendir("/proc");
    for (pid_t pid; (pid = proc_next_number(all));)
        count_process(&descendants, pid, key, own.start_ticks);
    if (all)
        closedir(all);
    return descendants;
}
