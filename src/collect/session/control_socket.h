/*
 * control_socket: the socket at which processes ask for their shared memory.
 *
 * It is an abstract socket, so that processes with another root directory can reach it. A client
 * must send the session's key, which only descendants of `run` have in their environment.
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
    int spare;        /* given up for a moment when there is no other descriptor left */
    unsigned refused; /* clients for whom there was none */
    char name[64];
    char key[WIRE_KEY_SIZE + 1];
    /* Connected, and silent so far, the oldest first: on a busy machine a process may be kept from
     * the processor just then, for as long as it takes. */
    struct control_socket_waiting {
        int fd;
        pid_t pid;
        bool other_user; /* of another user: the first to go if there is no room */
        uint64_t came_ns;
    } waiting[CONTROL_SOCKET_WAITING];
    unsigned waiting_count;
};

struct client {
    int fd;
    pid_t pid;
    uint64_t came_ns, left_ns; /* CLOCK_MONOTONIC; it waits from the one to the other */
    struct wire_request request;
    char text[WIRE_TEXT_MAX]; /* that came with it */
};

int control_socket_open(struct control_socket *d, struct err *err);
void control_socket_close(struct control_socket *d);
/* What to wait for, CONTROL_SOCKET_POLLED at most; returns how many. */
size_t control_socket_poll(const struct control_socket *d, struct pollfd *out);
/* The next client with a proper request; false: nobody (else) has one. Never waits. */
bool control_socket_answer(struct control_socket *d, struct client *v);
/* Answers the client and ends its connection. `memory` is passed on unless it is negative. */
void client_reply(struct client *v, int status, int memory, size_t size, uint32_t count);
/* The same, with `count` structs behind the reply. */
void client_give(struct client *v, const void *data, size_t size, uint32_t count);
/* The same, with a text. */
void client_tell(struct client *v, int status, const char *text);
/* Does nobody wait for the answer any longer? */
bool client_has_left(const struct client *v);
/* Ends it for us: a copy of us, which has the client too, will answer. */
void client_leave(struct client *v);

#endif
