/*
 * process_end: notices that a recorded process has ended, finds out how, and ends its profile.
 *
 * The collector learns of an end in three ways: it waits for the program, which is its child; the
 * pidfd of any other process becomes readable; and a process that executes another program says
 * so when it connects again (clients.c). What is counted last is closed by target_end
 * (collect/counting/target_finish.c).
 */
#ifndef TIDE_COLLECT_SESSION_PROCESS_END_H
#define TIDE_COLLECT_SESSION_PROCESS_END_H

#include "collect/session/session_state.h"

/* Ends the profiles of all processes that have ended by now. The loop calls it at every turn. */
void session_reap(struct session *s);
/* Has the process ended without telling us? */
bool session_is_gone(const struct session *s, const struct target *t);
/* Ends a target: the process has ended, or executes another program. */
void session_end_target(struct session *s, struct target *t, bool execed);
/* Sets how a process ended in its profile. */
void set_status(struct profile *p, int wait_status);

#endif
