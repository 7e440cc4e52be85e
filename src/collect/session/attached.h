/*
 * attached: a session with a program that already ran (`tidemark attach`). Its states:
 *
 *   ATTACHING  a helper process loads the library into the program (collect/attach)
 *   RECORDING  the program is recorded, as in any other session
 *   RESTORING  after Ctrl-C, --duration or `tidemark detach`: the program gets its own code back.
 *              The collector keeps reading, so that no thread waits for it in a hook
 *   FINISHED   the file can be written
 *   FAILED     the library could not be loaded: nothing was recorded
 */
#ifndef TIDE_COLLECT_SESSION_ATTACHED_H
#define TIDE_COLLECT_SESSION_ATTACHED_H

#include "collect/session/session_state.h"

/* Starts the helper process. Returns 0, or a negative errno and a sentence. */
int attached_begin(struct session *s, struct err *err);
/* Call it at every turn of the loop. */
void attached_turn(struct session *s, uint64_t now);
bool attached_is_over(const struct session *s);
/* Detaches from the program. `asker` is the client that gets an answer when the detach is done;
 * NULL: none. */
void attached_leave(struct session *s, struct client *asker);
/* Call it when the file has been written, or cannot be. */
void attached_end(struct session *s, const char *file);
/* Notes in the profile of a target that connects that the session is attached, if it is. */
void attached_hello(struct session *s, struct target *t);

#endif
