/*
 * door: the socket at which processes ask for their shared memory.
 *
 * An abstract socket, so that it can be reached from another root directory; who asks must know the
 * session's key, which only our descendants have in their environment.
 */
#ifndef TIDE_COLLECT_DOOR_H
#define TIDE_COLLECT_DOOR_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/layout.h"

enum { DOOR_WAITING = 64, DOOR_POLLED = DOOR_WAITING + 1 };

struct door {
    int fd;
    int spare;        /* given up for a moment when there is no other descriptor left */
    unsigned refused; /* visitors for whom there was none */
    char name[64];
    char key[WIRE_KEY_SIZE + 1];
    /* Connected, and silent so far, the oldest first: on a busy machine a process may be kept from
     * the processor just then, for as long as it takes. */
    struct door_waiting {
        int fd;
        pid_t pid;
        bool stranger; /* of another user: the first to go if there is no room */
        uint64_t came_ns;
    } waiting[DOOR_WAITING];
    unsigned waiting_count;
};

struct visitor {
    int fd;
    pid_t pid;
    uint64_t came_ns, left_ns; /* CLOCK_MONOTONIC; it waits from the one to the other */
    struct wire_request request;
    char text[WIRE_TEXT_MAX]; /* that came with it */
};

int door_open(struct door *d, struct err *err);
void door_close(struct door *d);
/* What to wait for, DOOR_POLLED at most; returns how many. */
size_t door_poll(const struct door *d, struct pollfd *out);
/* The next visitor with a proper request; false: nobody (else) has one. Never waits. */
bool door_answer(struct door *d, struct visitor *v);
/* Ends the visit. `memory` is passed on unless it is negative. */
void visitor_reply(struct visitor *v, int status, int memory, size_t size, uint32_t rings);
/* Ends it with a reply, and `count` things behind it. */
void visitor_give(struct visitor *v, const void *data, size_t size, uint32_t count);
/* Ends it with a text. */
void visitor_tell(struct visitor *v, int status, const char *text);
/* Does nobody wait for the answer any longer? */
bool visitor_has_left(const struct visitor *v);
/* Ends it for us: a copy of us, which has the visitor too, will answer. */
void visitor_leave(struct visitor *v);

#endif
