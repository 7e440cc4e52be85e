#include "collect/proc/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/older_libc.h"

/* The kernel keeps it with the pidfd once the process was waited for (Linux 6.15 and later). */
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

static int open_proc(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What /proc/PID/stat says from the state on; false: no such process. */
static bool read_stat(pid_t pid, char *out, size_t size)
{
    int fd = open_proc(pid, "stat");
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    const char *after = strrchr(out, ')'); /* the name may hold anything */
    if (!after || after[1] != ' ')
        return false;
    memmove(out, after + 2, strlen(after + 2) + 1);
    return true;
}

/* A field of it by its number in proc(5); the state is the third. */
static unsigned long stat_field(const char *stat, unsigned number)
{
    for (unsigned i = 3; i < number && stat; i++)
        stat = strchr(stat + 1, ' ');
    return stat ? strtoul(stat, NULL, 10) : 0;
}

#define STAT_FLAGS     9
#define STAT_THREADS   20
#define STAT_ENV_END   51
#define STAT_EXIT_CODE 52
#define KERNEL_THREAD  0x200000ul

/*
 * A pidfd tells it of the whole process: the thread that was the first may have ended long before
 * the others, and looks like a zombie then. Without one (Linux before 5.3, or no descriptor is
 * left) /proc tells it, and without that whether there is such a process at all.
 */
bool descendants_runs(pid_t pid)
{
    char stat[1024];
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (p.fd >= 0) {
        bool runs = poll(&p, 1, 0) == 0;
        close(p.fd);
        return runs;
    }
    if (errno != ESRCH && read_stat(pid, stat, sizeof stat))
        return (stat[0] != 'Z' && stat[0] != 'X') || stat_field(stat, STAT_THREADS) > 1;
    return kill(pid, 0) == 0 || errno == EPERM;
}

/* Until then it is a zombie, whose status is in stat, to those who may read it; the owner of its
 * folder, not of the files, is its user. */
static bool ask_zombie(pid_t pid, int *wait_status)
{
    char text[1024], folder[64];
    struct stat owner;
    snprintf(folder, sizeof folder, "/proc/%d", pid);
    if (stat(folder, &owner) != 0 || (geteuid() != 0 && owner.st_uid != geteuid()) ||
        !read_stat(pid, text, sizeof text) || text[0] != 'Z')
        return false;
    *wait_status = (int)stat_field(text, STAT_EXIT_CODE);
    return true;
}

bool descendants_status(pid_t pid, int pidfd, int *wait_status)
{
    if (pidfd < 0)
        return false;
    if (ask_pidfd(pidfd, wait_status))
        return true;
    /* If it is a zombie still, the number was its own when we read; else it was waited for. */
    if (ask_zombie(pid, wait_status) && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0)
        return true;
    return ask_pidfd(pidfd, wait_status);
}

/* Does a file of /proc hold a text? 1 or 0; -1: it can be read, but there is nothing in it. */
static int proc_holds(pid_t pid, const char *name, const char *text)
{
    static char buffer[65536];
    size_t size = strlen(text), kept = 0;
    int fd = open_proc(pid, name), found = fd >= 0 ? -1 : 0;
    for (ssize_t n; fd >= 0 && found != 1;) {
        n = read(fd, buffer + kept, sizeof buffer - kept);
        if (n <= 0)
            break;
        size_t all = kept + (size_t)n;
        found = memmem(buffer, all, text, size) != NULL;
        kept = all < size ? all : size; /* it may lie across two reads */
        memmove(buffer, buffer + all - kept, kept);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static void meet(struct descendants *descendants, pid_t pid, const char *key)
{
    char stat[1024];
    int ours = proc_holds(pid, "environ", key);
    if (!ours || !read_stat(pid, stat, sizeof stat) || stat[0] == 'Z' || stat[0] == 'X')
        return;
    if (ours < 0) {
        /* In the middle of exec there is none yet: it may be ours. */
        if (!(stat_field(stat, STAT_FLAGS) & KERNEL_THREAD) && !stat_field(stat, STAT_ENV_END))
            descendants->starting++;
    } else if (proc_holds(pid, "maps", "/memfd:tidemark") > 0) {
        descendants->forked++;
    } else if (stat[0] == 'S') {
        descendants->silent++;
    } else {
        descendants->starting++;
    }
}

struct descendants descendants_left(const char *key)
{
    struct descendants descendants = {0};
    DIR *all = opendir("/proc");
    for (struct dirent *e; all && (e = readdir(all));)
        if (isdigit((unsigned char)e->d_name[0]))
            meet(&descendants, (pid_t)strtol(e->d_name, NULL, 10), key);
    if (all)
        closedir(all);
    return descendants;
}
