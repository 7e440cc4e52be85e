#include "cli/compare_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

/* Forwarded to the copies. Ctrl-C and Ctrl-\ reach them from the terminal directly. */
static const int forwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

#define FORWARDED (sizeof forwarded / sizeof *forwarded)

/* The signal settings with which we were started, to be passed on to the copies. */
struct inherited {
    sigset_t mask;
    struct sigaction sigchld;
};

static _Noreturn void be_copy(int number, char **argv, const int go[2], int report,
                              const struct inherited *before)
{
    char text[16], byte;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    snprintf(text, sizeof text, "%d", number);
    setenv("TIDEMARK_COPY", text, 1);
    sigaction(SIGCHLD, &before->sigchld, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    close(go[1]);
    while (read(go[0], &byte, 1) < 0 && errno == EINTR)
        ;
    execvp(argv[0], argv);
    int32_t failure[2] = {number - 1, errno};
    ssize_t ignored = write(report, failure, sizeof failure);
    (void)ignored;
    _exit(127);
}

static void forward(int signal, const struct copy_end *ends, int count)
{
    for (size_t i = 0; i < FORWARDED; i++)
        for (int k = 0; k < count && signal == forwarded[i]; k++)
            kill(ends[k].pid, signal);
}

static uint64_t in_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Leaves them as zombies, so that the collector can read them. */
static void wait_for_all(const sigset_t *waited, struct copy_end *ends, int count)
{
    for (int k = 0; k < count;) {
        siginfo_t ended = {0};
        struct rusage used = {0};
        if (syscall(SYS_waitid, P_PID, ends[k].pid, &ended, WEXITED | WNOHANG | WNOWAIT, &used)) {
            k++;
            continue;
        }
        if (ended.si_pid) {
            struct copy_end *e = &ends[k++];
            e->wait_status = ended.si_code == CLD_EXITED ? (ended.si_status & 0xff) << 8
                                                         : ended.si_status & 0x7f;
            e->user_ns = in_ns(used.ru_utime);
            e->system_ns = in_ns(used.ru_stime);
            e->minor_faults = (uint64_t)used.ru_minflt;
            e->major_faults = (uint64_t)used.ru_majflt;
            continue;
        }
        int signal = sigwaitinfo(waited, NULL);
        if (signal > 0)
            forward(signal, ends, count);
    }
}

int cmd_copies(int argc, char **argv)
{
    int count = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0;
    int fd = argc > 3 ? (int)strtol(argv[2], NULL, 10) : -1;
    if (count < 1 || count > COPIES_MOST || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return 125;
    int go[2], report[2], started = 0;
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0)
        return 125;
    /* A process that ignores SIGCHLD receives none, and has no zombies to read. */
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    struct inherited before;
    sigset_t waited;
    sigemptyset(&waited);
    static const int taken[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(&waited, taken[i]);
    sigprocmask(SIG_BLOCK, &waited, &before.mask);
    sigaction(SIGCHLD, &normal, &before.sigchld);
    struct copy_end *ends = xcalloc((size_t)count, sizeof *ends);
    for (; started < count; started++) {
        ends[started].pid = fork();
        if (ends[started].pid == 0)
            be_copy(started + 1, argv + 3, go, report[1], &before);
        if (ends[started].pid < 0)
            break;
    }
    /* With fewer copies the result would have another meaning. */
    for (int k = 0; k < started && started < count; k++)
        kill(ends[k].pid, SIGKILL);
    close(go[0]);
    close(go[1]); /* the copies go on */
    close(report[1]);
    for (int32_t failure[2]; read(report[0], failure, sizeof failure) == (ssize_t)sizeof failure;)
        ends[failure[0]].error = failure[1];
    for (int k = started; k < count; k++)
        ends[k] = (struct copy_end){.error = EAGAIN};
    wait_for_all(&waited, ends, started);
    size_t size = (size_t)count * sizeof *ends;
    return write(fd, ends, size) == (ssize_t)size ? 0 : 125;
}
