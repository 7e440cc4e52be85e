#include "collect/session/relayed_signals.h"

#include <signal.h>
#include <unistd.h>

#include "collect/proc/proc.h"

#define GENERATIONS 64

static bool is_by_process(const struct signalfd_siginfo *info)
{
    return info->ssi_code <= 0; /* otherwise by the kernel, for the terminal */
}

bool relayed_signal_is_ours(const struct signalfd_siginfo *info)
{
    struct proc_state state;
    pid_t pid = is_by_process(info) ? (pid_t)info->ssi_pid : 0;
    for (int i = 0; i < GENERATIONS && pid > 1 && proc_read_state(pid, &state); i++) {
        pid = (pid_t)state.ppid;
        if (pid == getpid())
            return true;
    }
    return false;
}

/* A process that sends a signal to its own group gets it too: it will rather mean us. One that we
 * cannot see, from outside of a container, sends to the first process only. */
static bool means_us_alone(pid_t sender, pid_t program)
{
    pid_t group = getpgrp();
    return sender == 0 || getpgid(program) != group || getpgid(sender) == group;
}

bool relayed_signal(const struct signalfd_siginfo *info, pid_t program)
{
    int number = (int)info->ssi_signo;
    if (number != SIGINT && number != SIGQUIT)
        return true;
    return is_by_process(info) && means_us_alone((pid_t)info->ssi_pid, program);
}
