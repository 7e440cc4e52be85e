#include "collect/session/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define OTHER_USERS 8 /* so many clients of other users may be silent at a time */
/* How long a client of our own user may be silent if there is no room. */
#define PATIENCE_NS UINT64_C(1000000000)

static bool random_digits(char *out, size_t digits)
{
    unsigned char bytes[WIRE_KEY_SIZE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < digits / 2; i++)
        sprintf(out + i * 2, "%02x", bytes[i]);
    return true;
}

int control_socket_open(struct control_socket *d, struct err *err)
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
        control_socket_close(d);
        return err_set(err, code, "cannot make a socket for the program to connect to: %s",
                       strerror(-code));
    }
    d->spare = fcntl(d->fd, F_DUPFD_CLOEXEC, 3);
    return 0;
}

void control_socket_close(struct control_socket *d)
{
    if (d->fd >= 0)
        close(d->fd);
    if (d->spare >= 0)
        close(d->spare);
    d->fd = d->spare = -1;
    while (d->waiting_count)
        close(d->waiting[--d->waiting_count].fd);
}

/* No descriptor is left for a client. It must not wait for one, so it is refused. */
static bool refuse_next(struct control_socket *d)
{
    if (d->spare < 0)
        return false;
    close(d->spare);
    struct client v = {.fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC)};
    if (v.fd >= 0) {
        client_reply(&v, -EMFILE, -1, 0, 0);
        d->refused++;
    }
    d->spare = fcntl(d->fd, F_DUPFD_CLOEXEC, 3);
    return v.fd >= 0;
}

static void leave(struct control_socket *d, unsigned i)
{
    memmove(d->waiting + i, d->waiting + i + 1, (--d->waiting_count - i) * sizeof *d->waiting);
}

/* Drops the client of another user that has been silent longest, if there are too many of them. */
static bool make_room(struct control_socket *d, unsigned other_users)
{
    unsigned oldest = 0, count = 0;
    for (unsigned i = d->waiting_count; i-- > 0;) {
        if (d->waiting[i].other_user) {
            oldest = i;
            count++;
        }
    }
    if (count < other_users)
        return false;
    close(d->waiting[oldest].fd);
    leave(d, oldest);
    return true;
}

/* Without clients of other users: drops one of our own user that is silent for long (a stopped
 * process, say), as it must not keep all others waiting. The first is the oldest. */
static bool make_room_at_last(struct control_socket *d)
{
    if (!d->waiting_count || monotonic_ns() - d->waiting[0].came_ns < PATIENCE_NS)
        return false;
    close(d->waiting[0].fd);
    leave(d, 0);
    return true;
}

/* Accepts the next client. false: there is none, or no room for it. */
static bool accept_next(struct control_socket *d)
{
    struct ucred who = {0};
    socklen_t size = sizeof who;
    int fd = -1;
    if (d->waiting_count == CONTROL_SOCKET_WAITING && !make_room(d, 1) && !make_room_at_last(d))
        return false;
    while ((fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
        if ((errno != EMFILE && errno != ENFILE) ||
            !(make_room(d, 1) || make_room_at_last(d) || (!d->waiting_count && refuse_next(d))))
            return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
        close(fd);
        return true;
    }
    bool other_user = who.uid != geteuid();
    if (other_user)
        make_room(d, OTHER_USERS);
    d->waiting[d->waiting_count++] =
        (struct control_socket_waiting){fd, who.pid, other_user, monotonic_ns()};
    return true;
}

/* Reads a request. 1: a valid one; 0: none yet; -1: anything else, as from a client that only
 * tested whether we are alive. */
static int read_request(const struct control_socket *d, const struct control_socket_waiting *w,
                        struct client *v)
{
    struct iovec parts[2] = {{&v->request, sizeof v->request}, {v->text, sizeof v->text - 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    memset(v->text, 0, sizeof v->text);
    v->fd = w->fd;
    v->pid = w->pid;
    v->came_ns = v->left_ns = w->came_ns;
    ssize_t n = recvmsg(w->fd, &message, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n >= (ssize_t)sizeof v->request && !(message.msg_flags & MSG_TRUNC) &&
                   v->request.magic == WIRE_MAGIC && v->request.version == WIRE_VERSION &&
                   memcmp(v->request.key, d->key, WIRE_KEY_SIZE) == 0
               ? 1
               : -1;
}

size_t control_socket_poll(const struct control_socket *d, struct pollfd *out)
{
    size_t n = 0;
    for (unsigned i = 0; i < d->waiting_count; i++)
        out[n++] = (struct pollfd){.fd = d->waiting[i].fd, .events = POLLIN};
    /* If there is no room now, there may be later, for whoever connects. */
    if (n < CONTROL_SOCKET_WAITING || monotonic_ns() - d->waiting[0].came_ns >= PATIENCE_NS)
        out[n++] = (struct pollfd){.fd = d->fd, .events = POLLIN};
    return n;
}

bool control_socket_answer(struct control_socket *d, struct client *v)
{
    do {
        for (unsigned i = 0; i < d->waiting_count;) {
            int heard = read_request(d, &d->waiting[i], v);
            if (!heard) {
                i++;
                continue;
            }
            leave(d, i);
            if (heard > 0)
                return true;
            close(v->fd);
        }
    } while (accept_next(d));
    return false;
}

void client_reply(struct client *v, int status, int memory, size_t size, uint32_t count)
{
    struct wire_reply reply = {.status = status, .count = count, .size = size};
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
    v->left_ns = monotonic_ns();
    ssize_t ignored = sendmsg(v->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored; /* the client died meanwhile: its pidfd says so */
    close(v->fd);
}

static void answer(struct client *v, int status, const void *data, size_t size, uint32_t count)
{
    struct wire_reply reply = {.status = status, .size = size, .count = count};
    struct iovec parts[2] = {{&reply, sizeof reply}, {(void *)(uintptr_t)data, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    v->left_ns = monotonic_ns();
    ssize_t ignored = sendmsg(v->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)ignored;
    close(v->fd);
}

void client_reply_data(struct client *v, const void *data, size_t size, uint32_t count)
{
    answer(v, 0, data, size, count);
}

void client_reply_text(struct client *v, int status, const char *text)
{
    answer(v, status, text, strlen(text), 0);
}

bool client_has_left(const struct client *v)
{
    struct pollfd p = {.fd = v->fd};
    return poll(&p, 1, 0) == 1;
}

void client_leave(struct client *v)
{
    v->left_ns = monotonic_ns();
    close(v->fd);
}
