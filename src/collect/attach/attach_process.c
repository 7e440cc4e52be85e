#include "collect/attach/attach_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Leaves only signals that cannot be blocked, SIGKILL above all: a helper that ended half way would
 * leave a thread of the program in code where it does not belong. */
static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setpgid(0, 0); /* also not by what a terminal or timeout(1) sends to the group */
}

static int begin(struct attach_process *p, pid_t target, const char *library,
                 const struct wire_attach *session, bool count_before, struct err *err)
{
    int answer[2];
    *p = (struct attach_process){.target = target, .answer = -1};
    if (pipe2(answer, O_CLOEXEC) != 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    p->pid = fork();
    if (p->pid == 0) {
        static struct attach_answer a;
        block_signals();
        a.code = session ? inject_attach(target, library, session, count_before, &a.result, &a.err)
                         : inject_restore(target, &a.found, &a.err);
        ssize_t ignored = write(answer[1], &a, sizeof a);
        (void)ignored;
        _exit(0);
    }
    close(answer[1]);
    if (p->pid < 0) {
        close(answer[0]);
        p->pid = 0;
        return err_set(err, -errno, "cannot start a process: %s", strerror(errno));
    }
    p->answer = answer[0];
    return 0;
}

int attach_process_begin(struct attach_process *p, pid_t target, const char *library,
                         const struct wire_attach *session, bool count_before, struct err *err)
{
    return begin(p, target, library, session, count_before, err);
}

int attach_process_restore(struct attach_process *p, pid_t target, struct err *err)
{
    return begin(p, target, NULL, NULL, false, err);
}

bool attach_process_answer(struct attach_process *p, bool wait, struct attach_answer *out)
{
    struct pollfd poll_for = {.fd = p->answer, .events = POLLIN};
    if (!wait && poll(&poll_for, 1, 0) != 1)
        return false;
    ssize_t n;
    do
        /* The answer is smaller than a pipe holds, so it arrives in one piece. */
        n = read(p->answer, out, sizeof *out);
    while (n < 0 && errno == EINTR);
    close(p->answer);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    p->answer = -1;
    if (n != (ssize_t)sizeof *out) {
        *out = (struct attach_answer){0};
        out->code = err_set(&out->err, -EIO, "the process that changes process %d was killed",
                            (int)p->target);
    }
    return true;
}
