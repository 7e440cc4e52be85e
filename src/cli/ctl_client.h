/*
 * ctl_client: sends requests to the collector of a running recording, as `tidemark ctl` does. A
 * recorded program has the collector's address and key in its environment, which only its own user
 * can read. Whoever can read them may send requests.
 */
#ifndef TIDE_CLI_CTL_CLIENT_H
#define TIDE_CLI_CTL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "wire/layout.h"

struct ctl_client {
    pid_t pid; /* the process that is meant */
    char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char key[WIRE_KEY_SIZE];
};

/* The process that a word means: a number that is not the name of a file. 0: none. */
pid_t ctl_client_pid(const char *word);
/* Finds the recording that a process belongs to: the program, one of its children, or `tidemark
 * run` itself. -ESRCH and a sentence: there is none, or we may not ask it. */
int ctl_client_begin(pid_t pid, struct ctl_client *out, struct err *err);
/* Finds the only running recording; false: there is none, or there are several: `pids` gets a
 * process of each. */
bool ctl_client_only(struct ctl_client *out, struct strbuf *pids);

/* Sends a request. Returns a descriptor on which the answer will come, or a negative errno;
 * -EPIPE here and from ctl_client_answer: the collector has ended. */
int ctl_client_ask(const struct ctl_client *c, enum wire_request_kind kind, const char *text);
/* Waits for the answer, and closes `fd`. The answer is a text or, if `memory` is not NULL, perhaps
 * a descriptor. Returns 0, or a negative errno, perhaps with a text. */
int ctl_client_answer(int fd, char *text, size_t room, int *memory);
/* Appends what to say about an answer other than 0. */
void ctl_client_explain(const struct ctl_client *c, int code, const char *what, const char *text,
                        struct strbuf *out);

#endif
