/*
 * signal_name: the names of signals. glibc has them as sigabbrev_np, but only from 2.32 on.
 */
#ifndef TIDE_BASE_SIGNAL_NAME_H
#define TIDE_BASE_SIGNAL_NAME_H

/* "KILL" for SIGKILL; NULL: a signal without a name, such as the real-time signals. */
const char *signal_name(int signal);

#endif
