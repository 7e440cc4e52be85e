/*
 * relayed_signals: which signals that `tidemark run` gets are meant for the program.
 *
 * The program is in our process group, so a signal to the group reaches both, and the terminal
 * sends SIGINT and SIGQUIT to the group. Other senders know only our pid: a supervisor, `kill`,
 * `docker stop`. Nothing says whether a signal was sent to a process or to its group.
 */
#ifndef TIDE_COLLECT_SESSION_RELAYED_SIGNALS_H
#define TIDE_COLLECT_SESSION_RELAYED_SIGNALS_H

#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

/* Did a child of ours send it, or a descendant of one? If so, to its process group or to its
 * parent: the program has got it already, if it was meant. */
bool relayed_signal_is_ours(const struct signalfd_siginfo *info);

/*
 * Is it to be sent on to the program? `program`: its pid. The sender is not a recorded process.
 * SIGINT and SIGQUIT of the terminal are not. Those of a process are, unless it may well have sent
 * them to the group, so that the program would get them twice: a program often ends at once when it
 * gets a second one.
 */
bool relayed_signal(const struct signalfd_siginfo *info, pid_t program);

#endif
