#include "collect/kin.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Until then it is a zombie, whose last field in stat is its status, to those who may read it. */
static bool ask_zombie(pid_t pid, int *wait_status)
{
    char text[1024];
    struct stat owner;
    int fd = open_proc(pid, "stat");
    if (fd < 0)
        return false;
    ssize_t n = fstat(fd, &owner) == 0 ? read(fd, text, sizeof text - 1) : -1;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *after = strrchr(text, ')'); /* the name may hold anything */
    const char *last = strrchr(text, ' ');
    if (!after || strncmp(after, ") Z ", 4) != 0 || (geteuid() != 0 && owner.st_uid != geteuid()))
        return false;
    *wait_status = atoi(last);
    return true;
}

bool kin_status(pid_t pid, int pidfd, int *wait_status)
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

/* Does a file of /proc hold a text? */
static bool proc_holds(pid_t pid, const char *name, const char *text)
{
    static char buffer[65536];
    size_t size = strlen(text), kept = 0;
    int fd = open_proc(pid, name);
    bool found = false;
    for (ssize_t n; fd >= 0 && !found;) {
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

struct kin kin_left(const char *key)
{
    struct kin kin = {0};
    DIR *all = opendir("/proc");
    for (struct dirent *e; all && (e = readdir(all));) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
        if (!pid || !proc_holds(pid, "environ", key))
            continue;
        if (proc_holds(pid, "maps", "/memfd:tidemark"))
            kin.forked++;
        else
            kin.silent++;
    }
    if (all)
        closedir(all);
    return kin;
}
