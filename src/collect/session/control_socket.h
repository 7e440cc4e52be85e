/*
 * control_socket: the socket at which processes ask for their shared memory. It is an abstract
 * socket, so that processes with another root directory can reach it. A client must send the
 * session's key, which only descendants of `run` have in their environment.
 *
 * Threads: the session's one thread. Ownership: control_socket_close closes everything; call
 * client_reply* or client_leave once for each client.
 */
#ifndef TIDE_COLLECT_SESSION_CONTROL_SOCKET_H
#define TIDE_COLLECT_SESSION_CONTROL_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/layout.h"

enum { CONTROL_SOCKET_WAITING = 64, CONTROL_SOCKET_POLLED = CONTROL_SOCKET_WAITING + 1 };

struct control_socket {
    int fd;
    int spare;        /* closed for a moment when no other descriptor is left */
    unsigned refused; /* clients that were refused for lack of a descriptor */
    char name[64];
    char key[WIRE_KEY_SIZE + 1];
    /* Clients that have connected and sent nothing so far, the oldest first. On a busy machine a
     * process may lose the processor just then, for any length of time. */
    struct control_socket_waiting {
        int fd;
        pid_t pid;
        bool other_user; /* belongs to another user: dropped first if there is no room */
        uint64_t came_ns;
    } waiting[CONTROL_SOCKET_WAITING];
    unsigned waiting_count;
};

struct client {
    int fd;
    pid_t pid;
    uint64_t came_ns, left_ns; /* when it connected and disconnected (CLOCK_MONOTONIC) */
    struct wire_request request;
    char text[WIRE_TEXT_MAX]; /* the text of the request */
};

int control_socket_open(struct control_socket *d, struct err *err);
void control_socket_close(struct control_socket *d);
/* Fills in what to poll, at most CONTROL_SOCKET_POLLED entries. Returns how many. */
size_t control_socket_poll(const struct control_socket *d, struct pollfd *out);
/* Gets the next client with a valid request; false: there is none. Never blocks. */
bool control_socket_answer(struct control_socket *d, struct client *v);
/* Answers the client and closes its connection. `memory` is a descriptor to pass on, or
 * negative. */
void client_reply(struct client *v, int status, int memory, size_t size, uint32_t count);
/* Answers the client with `count` structs after the reply, and closes its connection. */
void client_reply_data(struct client *v, const void *data, size_t size, uint32_t count);
/* Answers the client with a text, and closes its connection. */
void client_reply_text(struct client *v, int status, const char *text);
/* Has the client stopped waiting for the answer? */
bool client_has_left(const struct client *v);
/* Closes the connection in this process only: a forked copy of the collector, which has it too,
 * will answer. */
void client_leave(struct client *v);

#endif
