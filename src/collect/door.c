#include "collect/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool random_digits(char *out, size_t digits)
{
    unsigned char bytes[WIRE_KEY_SIZE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < digits / 2; i++)
        sprintf(out + i * 2, "%02x", bytes[i]);
    return true;
}

int door_open(struct door *d, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char digits[17] = "";
    d->fd = d->spare = -1;
    if (!random_digits(d->key, WIRE_KEY_SIZE) || !random_digits(digits, 16))
        return err_set(err, -errno, "cannot get random numbers: %s", strerror(errno));
    snprintf(d->name, sizeof d->name, "tidemark-%d-%s", (int)getpid(), digits);
    memcpy(address.sun_path + 1, d->name, strlen(d->name));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(d->name));
    d->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->fd < 0 || bind(d->fd, (struct sockaddr *)&address, size) != 0 ||
        listen(d->fd, 4096) != 0) {
        int code = -errno;
        door_close(d);
        return err_set(err, code, "cannot make a socket for the program to connect to: %s",
                       strerror(-code));
    }
    d->spare = fcntl(d->fd, F_DUPFD_CLOEXEC, 3);
    return 0;
}

void door_close(struct door *d)
{
    if (d->fd >= 0)
        close(d->fd);
    if (d->spare >= 0)
        close(d->spare);
    d->fd = d->spare = -1;
}

/* No descriptor is left for a visitor. It must not wait for one: it is sent away. */
static bool send_away(struct door *d)
{
    if (d->spare < 0)
        return false;
    close(d->spare);
    struct visitor v = {.fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC)};
    if (v.fd >= 0) {
        visitor_reply(&v, -EMFILE, -1, 0, 0);
        d->refused++;
    }
    d->spare = fcntl(d->fd, F_DUPFD_CLOEXEC, 3);
    return v.fd >= 0;
}

bool door_answer(struct door *d, struct visitor *v)
{
    for (;;) {
        v->fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC);
        if (v->fd < 0 && (errno == EMFILE || errno == ENFILE) && send_away(d))
            continue;
        if (v->fd < 0)
            return false;
        v->came_ns = v->left_ns = monotonic();
        struct ucred who = {0};
        socklen_t size = sizeof who;
        struct pollfd p = {.fd = v->fd, .events = POLLIN};
        /* A process sends its request right after it connects; one that only tests whether we are
         * alive hangs up. Another user who comes and is silent shall not keep us for long. */
        struct iovec parts[2] = {{&v->request, sizeof v->request}, {v->text, sizeof v->text - 1}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        memset(v->text, 0, sizeof v->text);
        if (getsockopt(v->fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
            poll(&p, 1, who.uid == geteuid() ? 200 : 5) == 1 &&
            recvmsg(v->fd, &message, MSG_DONTWAIT) >= (ssize_t)sizeof v->request &&
            !(message.msg_flags & MSG_TRUNC) && v->request.magic == WIRE_MAGIC &&
            v->request.version == WIRE_VERSION &&
            memcmp(v->request.key, d->key, WIRE_KEY_SIZE) == 0) {
            v->pid = who.pid;
            return true;
        }
        close(v->fd);
    }
}

void visitor_reply(struct visitor *v, int status, int memory, size_t size, uint32_t rings)
{
    struct wire_reply reply = {.status = status, .ring_count = rings, .size = size};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = &reply, .iov_len = sizeof reply};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (memory >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof memory);
        memcpy(CMSG_DATA(c), &memory, sizeof memory);
    }
    v->left_ns = monotonic();
    ssize_t ignored = sendmsg(v->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored; /* it died meanwhile: its pidfd says so */
    close(v->fd);
}

static void answer(struct visitor *v, int status, const void *data, size_t size, uint32_t count)
{
    struct wire_reply reply = {.status = status, .size = size, .ring_count = count};
    struct iovec parts[2] = {{&reply, sizeof reply}, {(void *)(uintptr_t)data, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    v->left_ns = monotonic();
    ssize_t ignored = sendmsg(v->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    close(v->fd);
}

void visitor_give(struct visitor *v, const void *data, size_t size, uint32_t count)
{
    answer(v, 0, data, size, count);
}

void visitor_tell(struct visitor *v, int status, const char *text)
{
    answer(v, status, text, strlen(text), 0);
}
