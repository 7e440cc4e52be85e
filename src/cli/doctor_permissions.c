/*
 * The checks of `tidemark doctor` that are about permissions: socket, shared memory, perf events,
 * ptrace. cmd_doctor.c has the list of checks.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/older_libc.h"
#include "cli/doctor.h"
#include "collect/proc/remote_memory.h"

/* --- what recordings of the heap need -----------------------------------------------------------
 */

void check_socket(struct finding *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tidemark-doctor-%d", getpid());
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool works = control >= 0 && client >= 0 &&
                 bind(control, (struct sockaddr *)&address, size) == 0 && listen(control, 1) == 0 &&
                 connect(client, (struct sockaddr *)&address, size) == 0;
    if (works)
        finding_set(f, DOCTOR_OK, "", "programs can connect to the collector");
    else
        finding_set(f, DOCTOR_MISSING,
                    "nothing can be recorded: ask for a seccomp or container profile that permits "
                    "Unix sockets",
                    "a Unix socket cannot be made or connected to: %s", strerror(errno));
    if (control >= 0)
        close(control);
    if (client >= 0)
        close(client);
}

void check_shared_memory(struct finding *f)
{
    int fd = memfd_create("tidemark-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *memory = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, 4096) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        finding_set(f, DOCTOR_OK, "", "memfd_create works, with seals");
    else
        finding_set(f, DOCTOR_MISSING,
                    "nothing can be recorded: ask for a seccomp or container profile that permits "
                    "memfd_create",
                    "memfd_create does not work: %s", strerror(errno));
    if (memory != MAP_FAILED)
        munmap(memory, 4096);
    if (fd >= 0)
        close(fd);
}

/* --- what other recordings need -----------------------------------------------------------------
 */

/* -1: there is no such setting. */
static int setting(const char *path)
{
    char text[32] = "-1";
    FILE *file = fopen(path, "re");
    if (file && !fgets(text, sizeof text, file))
        strcpy(text, "-1");
    if (file)
        fclose(file);
    return (int)strtol(text, NULL, 10);
}

/* Returns 0 or an errno. */
static int try_perf_event(unsigned long long config)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .size = sizeof a,
                                .config = config,
                                .sample_period = 1000000,
                                .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
                                .disabled = 1,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    close((int)fd);
    return 0;
}

void check_perf_events(struct finding *f)
{
    int clock = try_perf_event(PERF_COUNT_SW_TASK_CLOCK);
    int faults = try_perf_event(PERF_COUNT_SW_PAGE_FAULTS);
    int paranoid = setting("/proc/sys/kernel/perf_event_paranoid");
    bool works = !clock && !faults;
    /* If something else refused (a seccomp filter, a kernel without perf events), the setting does
     * not help. */
    bool by_setting = paranoid > 2 && (clock == EACCES || clock == EPERM);
    finding_set(f, works ? DOCTOR_OK : DOCTOR_MISSING,
                works        ? ""
                : by_setting ? "CPU samples and page faults will not be available: ask for "
                               "kernel.perf_event_paranoid=2"
                             : "CPU samples and page faults will not be available: ask for a "
                               "seccomp or container profile that permits perf_event_open",
                "task-clock: %s; page-faults: %s; perf_event_paranoid is ",
                clock ? strerror(clock) : "works", faults ? strerror(faults) : "works");
    if (paranoid == -1 && access("/proc/sys/kernel/perf_event_paranoid", F_OK) != 0)
        strbuf_puts(&f->found, "absent");
    else
        strbuf_printf(&f->found, "%d", paranoid);
}

/* Starts a child that waits to be read; it ends when we do. -1: error. */
static pid_t start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child;
}

static void end_child(pid_t child)
{
    if (child <= 0)
        return;
    kill(child, SIGKILL);
    waitpid(child, NULL, __WALL);
}

void check_ptrace(struct finding *f)
{
    static const long known = 0x7469646d61726b; /* at the same address in the child */
    long seen = 0;
    pid_t child = start_child();
    struct remote_memory memory;
    remote_memory_open(&memory, child);
    ssize_t n = remote_memory_read(&memory, (uintptr_t)&known, &seen, sizeof seen);
    bool reads = n == (ssize_t)sizeof seen && seen == known;
    remote_memory_close(&memory);
    bool seizes = ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0;
    int seize_error = errno;
    end_child(child);
    int scope = setting("/proc/sys/kernel/yama/ptrace_scope");
    finding_set(f, reads && seizes ? DOCTOR_OK : DOCTOR_LIMITED,
                reads && seizes
                    ? scope > 0 && geteuid() != 0
                          ? "tidemark can read the memory of programs that it starts, not of others"
                          : ""
                    : "lost blocks cannot be separated from reachable ones, and a running process "
                      "cannot be attached to; heap recordings do not need it",
                "PTRACE_SEIZE of a child: %s; reading its memory: %s; yama's ptrace_scope is ",
                seizes ? "works" : strerror(seize_error),
                reads ? "works" : strerror(n < 0 ? (int)-n : EIO));
    if (scope < 0)
        strbuf_puts(&f->found, "absent");
    else
        strbuf_printf(&f->found, "%d", scope);
}

void check_pagemap(struct finding *f)
{
    char path[64];
    unsigned long long entry = 0;
    static int here;
    pid_t child = start_child();
    snprintf(path, sizeof path, "/proc/%d/pagemap", child);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t at = (off_t)((size_t)&here / (size_t)sysconf(_SC_PAGESIZE) * sizeof entry);
    bool works = fd >= 0 && pread(fd, &entry, sizeof entry, at) == (ssize_t)sizeof entry;
    int error = errno;
    if (fd >= 0)
        close(fd);
    end_child(child);
    finding_set(
        f, works ? DOCTOR_OK : DOCTOR_LIMITED,
        works ? ""
              : "memory that was never touched cannot be found; heap recordings do not need it",
        "/proc/PID/pagemap of a child %s%s",
        works ? "can be read" : "cannot be read: ", works ? "" : strerror(error));
}

/* Asks the pidfd of a reaped child how it ended. Returns 0 or an errno. */
static int try_pidfd_info(int pidfd)
{
    struct {
        unsigned long long mask, cgroup;
        unsigned ids[11];
        int exit_code;
    } info = {.mask = 1 << 3 /* PIDFD_INFO_EXIT */};
    if (ioctl(pidfd, _IOWR(0xff, 11, info), &info) != 0)
        return errno;
    return (info.mask & 1 << 3) && info.exit_code == 7 << 8 ? 0 : EOPNOTSUPP;
}

void check_pidfd(struct finding *f)
{
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0),
        open_error = errno; /* it is not reaped yet */
    waitpid(child, NULL, 0);
    int info_error = pidfd >= 0 ? try_pidfd_info(pidfd) : open_error;
    if (pidfd >= 0)
        close(pidfd);
    finding_set(f, info_error ? DOCTOR_LIMITED : DOCTOR_OK,
                info_error ? "the exit status of child processes will be unknown; that of the "
                             "program itself is known (Linux 6.15 and later have it)"
                           : "",
                "pidfd_open: %s; PIDFD_GET_INFO with exit status: %s",
                pidfd >= 0 ? "works" : strerror(open_error),
                info_error ? strerror(info_error) : "works");
}
