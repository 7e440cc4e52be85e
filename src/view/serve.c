#include "view/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "view/http.h"

#define CHILDREN_MOST  6 /* browsers open no more connections */
#define PATIENCE_S     10
#define MESSAGE_MOST   2000
#define REFRESH_FAILED 'n'
#define REFRESH_DONE   'y'

/* Signals that end the server are blocked except while it waits, so that none can arrive between a
 * test of `ended` and the wait. */
static volatile sig_atomic_t ended;
static sigset_t while_waiting;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static void take_signals(void)
{
    struct sigaction action = {.sa_handler = end};
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, &while_waiting);
    sigdelset(&while_waiting, SIGINT);
    sigdelset(&while_waiting, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* For children of the server: signals end them like any process. */
static void forget_signals(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &while_waiting, NULL);
}

bool serve_keeps_waiting(unsigned wait_ms)
{
    const struct timespec wait = {.tv_nsec = (long)wait_ms * 1000000};
    if (!ended)
        ppoll(NULL, 0, &wait, &while_waiting);
    return !ended;
}

/* --- the port -------------------------------------------------------------------------------- */

static bool take_address(const char *given, struct sockaddr_storage *to, socklen_t *size)
{
    char host[64] = "127.0.0.1";
    const char *port = given ? given : "", *colon = given ? strrchr(given, ':') : NULL;
    if (given && colon && (size_t)(colon - given) < sizeof host) {
        if (colon != given)
            snprintf(host, sizeof host, "%.*s", (int)(colon - given), given);
        port = colon + 1;
    } else if (given && strspn(given, "0123456789") != strlen(given)) {
        snprintf(host, sizeof host, "%s", given);
        port = "";
    }
    char *rest;
    unsigned long number = strtoul(port, &rest, 10);
    if (*rest || number > 65535 || strspn(port, "0123456789") != strlen(port))
        return false;
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    *to = (struct sockaddr_storage){0};
    if (strcmp(host, "localhost") == 0)
        strcpy(host, "127.0.0.1");
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)number);
        *size = sizeof *four;
        return ntohl(four->sin_addr.s_addr) == INADDR_LOOPBACK;
    }
    if (strcmp(host, "[::1]") != 0)
        return false;
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_loopback;
    six->sin6_port = htons((uint16_t)number);
    *size = sizeof *six;
    return true;
}

static int make_token(char *token)
{
    uint8_t bytes[SERVE_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return -errno;
    for (size_t i = 0; i < sizeof bytes; i++)
        sprintf(token + 2 * i, "%02x", bytes[i]);
    return 0;
}

int serve_open(struct serve *s, const char *address, struct err *err)
{
    struct sockaddr_storage to;
    socklen_t size;
    int yes = 1;
    if (!take_address(address, &to, &size))
        return err_set(err, -EINVAL,
                       "--serve '%s' is not an address of this machine: PORT, localhost:PORT, "
                       "127.0.0.1:PORT or [::1]:PORT; from elsewhere use ssh -L",
                       address);
    s->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
        bind(s->fd, (struct sockaddr *)&to, size) || listen(s->fd, 64) ||
        getsockname(s->fd, (struct sockaddr *)&to, &size) || make_token(s->token)) {
        int code = -errno;
        if (s->fd >= 0)
            close(s->fd);
        return err_set(err, code, "cannot listen on %s: %s", address ? address : "127.0.0.1",
                       strerror(-code));
    }
    if (to.ss_family == AF_INET)
        snprintf(s->address, sizeof s->address, "127.0.0.1:%u",
                 ntohs(((struct sockaddr_in *)&to)->sin_port));
    else
        snprintf(s->address, sizeof s->address, "[::1]:%u",
                 ntohs(((struct sockaddr_in6 *)&to)->sin6_port));
    return 0;
}

/* --- one connection, in a child -------------------------------------------------------------- */

static void send_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes += n;
        size -= (size_t)n;
    }
}

static void respond(const struct serve *s, int fd, int status, const char *type,
                    const char *headers, const void *body, size_t size)
{
    static const struct {
        int status;
        const char *words;
    } known[] = {{200, "OK"},
                 {400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {413, "Content Too Large"},
                 {421, "Misdirected Request"},
                 {431, "Request Header Fields Too Large"},
                 {500, "Internal Server Error"}};
    const char *words = "";
    struct strbuf head = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status)
            words = known[i].words;
    strbuf_printf(&head,
                  "HTTP/1.1 %d %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
                  "Content-Security-Policy: %s\r\nX-Content-Type-Options: nosniff\r\n"
                  "X-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n"
                  "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n%s"
                  "Connection: close\r\n\r\n",
                  status, words, type, size, s->policy, headers);
    send_all(fd, head.data, head.size);
    send_all(fd, body, size);
    strbuf_release(&head);
}

static void respond_text(const struct serve *s, int fd, int status, const char *text)
{
    respond(s, fd, status, "text/plain", "", text, strlen(text));
}

/* Reads until the head, and then the body, is complete. Returns 1, or the status with which to
 * refuse it; 0: the client is gone. */
static int read_request(int fd, struct strbuf *bytes, struct http_request *request)
{
    int parsed = 0;
    for (;;) {
        char part[4096];
        ssize_t n = recv(fd, part, sizeof part, 0);
        if (n <= 0)
            return 0;
        strbuf_add(bytes, part, (size_t)n);
        parsed = http_parse(bytes->data, bytes->size, request);
        if (parsed > 1)
            return parsed;
        if (parsed == 1 && bytes->size - request->head >= request->body)
            return 1;
    }
}

static void add_escaped(struct strbuf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size && i < MESSAGE_MOST; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ')
            strbuf_putc(out, (char)c);
        else
            strbuf_printf(out, "%%%02X", c);
    }
}

/* All bytes of a memory file; NULL: it is empty, or cannot be mapped. */
static const char *contents(int fd, size_t *size)
{
    off_t end_at = lseek(fd, 0, SEEK_END);
    *size = end_at > 0 ? (size_t)end_at : 0;
    void *at = *size ? mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED)
        *size = 0;
    return at == MAP_FAILED ? NULL : at;
}

static void answer(const struct serve *s, int fd, char *words, size_t size)
{
    int out = memfd_create("out", MFD_CLOEXEC), said = memfd_create("said", MFD_CLOEXEC);
    struct strbuf headers = {0};
    const struct rlimit none = {0, 0};
    if (out < 0 || said < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0 ||
        setrlimit(RLIMIT_NOFILE, &none)) { /* from here on nothing can be opened */
        respond_text(s, fd, 500, "the server has no memory for an answer\n");
        return;
    }
    close(STDIN_FILENO);
    words[size - 1] = '\0';
    int status = s->ask(words, size);
    fflush(stdout);
    fflush(stderr);
    size_t printed_size, message_size;
    const char *printed = contents(out, &printed_size), *message = contents(said, &message_size);
    strbuf_printf(&headers, "X-Status: %d\r\nX-Message: ", status);
    add_escaped(&headers, message, message_size);
    strbuf_puts(&headers, "\r\n");
    respond(s, fd, 200, "text/plain", headers.data, printed, printed_size);
    strbuf_release(&headers);
}

/* Lets the server itself read the present state. */
static void ask_refresh(const struct serve *s, int fd, int server)
{
    char reply = REFRESH_FAILED;
    if (!s->refresh)
        respond_text(s, fd, 404, "the recording has ended: there is nothing new\n");
    else if (write(server, "r", 1) == 1 && read(server, &reply, 1) == 1 && reply == REFRESH_DONE)
        respond_text(s, fd, 200, "");
    else
        respond_text(s, fd, 500, "the recording has ended, or cannot be read any more\n");
}

static void serve_connection(const struct serve *s, int fd, int server)
{
    struct strbuf bytes = {0};
    struct http_request r;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int status = read_request(fd, &bytes, &r);
    if (status == 1)
        status = http_refused(&r, s->token);
    else if (status == 0)
        return;
    if (status)
        respond_text(s, fd, status,
                     status == 403 || status == 421
                         ? "this address belongs to a running 'tidemark view'; open it by the link "
                           "that it printed\n"
                         : "this is no request of a page of tidemark\n");
    else if (http_is(r.path, "/") && http_is(r.method, "GET"))
        respond(s, fd, 200, "text/html", "", s->page, s->page_size);
    else if (http_is(r.path, "/ask") && http_is(r.method, "POST") && r.body)
        answer(s, fd, bytes.data + r.head, r.body);
    else if (http_is(r.path, "/refresh") && http_is(r.method, "POST"))
        ask_refresh(s, fd, server);
    else
        respond_text(s, fd, 404, "there is no such thing here\n");
    shutdown(fd, SHUT_WR);
    strbuf_release(&bytes);
}

/* --- the server ------------------------------------------------------------------------------ */

struct child {
    pid_t pid; /* 0: none */
    int fd;    /* to the child; it writes a byte when it wants a refresh */
};

static void begin(struct serve *s, struct child *child, int connection)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return;
    child->pid = fork();
    if (child->pid == 0) {
        forget_signals();
        close(s->fd);
        close(pair[0]);
        serve_connection(s, connection, pair[1]);
        _exit(0);
    }
    close(pair[1]);
    child->fd = pair[0];
    if (child->pid < 0) {
        close(pair[0]);
        child->pid = 0;
    }
}

/* Handles a child that wrote a byte, or has ended. */
static void handle_child(struct serve *s, struct child *child)
{
    char byte;
    struct err err = {{0}};
    if (read(child->fd, &byte, 1) == 1) {
        char reply = s->refresh(s->context, &err) ? REFRESH_FAILED : REFRESH_DONE;
        if (write(child->fd, &reply, 1) == 1)
            return;
    }
    close(child->fd);
    waitpid(child->pid, NULL, 0);
    child->pid = 0;
}

int serve_run(struct serve *s, struct err *err)
{
    struct child children[CHILDREN_MOST] = {0};
    take_signals();
    while (!ended) {
        struct pollfd wait[CHILDREN_MOST + 1];
        struct child *free_child = NULL;
        for (size_t i = 0; i < CHILDREN_MOST; i++) {
            wait[i] =
                (struct pollfd){.fd = children[i].pid ? children[i].fd : -1, .events = POLLIN};
            if (!children[i].pid)
                free_child = &children[i];
        }
        wait[CHILDREN_MOST] = (struct pollfd){.fd = free_child ? s->fd : -1, .events = POLLIN};
        if (ppoll(wait, CHILDREN_MOST + 1, NULL, &while_waiting) < 0) {
            if (errno == EINTR)
                continue;
            return err_set(err, -errno, "cannot wait for questions: %s", strerror(errno));
        }
        for (size_t i = 0; i < CHILDREN_MOST; i++)
            if (wait[i].revents)
                handle_child(s, &children[i]);
        if (wait[CHILDREN_MOST].revents & POLLIN) {
            int connection = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
            if (connection >= 0)
                begin(s, free_child, connection);
            if (connection >= 0)
                close(connection);
        }
    }
    for (size_t i = 0; i < CHILDREN_MOST; i++)
        if (children[i].pid) {
            kill(children[i].pid, SIGTERM);
            waitpid(children[i].pid, NULL, 0);
            close(children[i].fd);
        }
    close(s->fd);
    return 0;
}
