/*
 * attached: a session with a program that ran already (`tidemark attach`).
 *
 *   ATTACHING   a process of its own brings the library into the program (collect/attach)
 *   RECORDING   as any other session
 *   RESTORING   by Ctrl-C, --duration or `tidemark detach`: the program gets its code back. It is
 *               read meanwhile, so that no thread waits for us in a hook
 *   FINISHED    the file can be written
 */
#ifndef TIDE_COLLECT_SESSION_ATTACHED_H
#define TIDE_COLLECT_SESSION_ATTACHED_H

#include "collect/session/session_state.h"

/* Can this process be attached to? 0, or a negative errno and a sentence. Changes nothing. */
int attached_check(pid_t pid, struct err *err);
int attached_begin(struct session *s, struct err *err);
/* At every turn of the loop. */
void attached_turn(struct session *s, uint64_t now);
bool attached_is_over(const struct session *s);
/* The program shall go on without us. `asker`: who is told when it is done; NULL: nobody. */
void attached_leave(struct session *s, struct client *asker);
/* The file is written, or cannot be. */
void attached_end(struct session *s, const char *file);
/* Its profile gets what was found out. */
void attached_hello(struct session *s, struct target *t);

#endif
