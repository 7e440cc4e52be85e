#include "cli/ctl_client.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "collect/attach/inject.h"
#include "collect/attach/remote_environment.h"
#include "collect/proc/own_mappings.h"
#include "collect/proc/remote_memory.h"
#include "collect/proc/smaps.h"

#define LIBRARY_MOST (64u << 20) /* a larger mapping is not the library's data */

static char *read_whole(const char *path, size_t *size)
{
    struct strbuf b = {0};
    char part[4096];
    FILE *in = fopen(path, "re");
    strbuf_puts(&b, "");
    for (size_t n; in && (n = fread(part, 1, sizeof part, in)) > 0;)
        strbuf_add(&b, part, n);
    if (in)
        fclose(in);
    *size = b.size;
    return strbuf_detach(&b);
}

/* The value of a variable in a block of NAME=VALUE strings, each ended by a NUL; NULL: it is not
 * there. */
static const char *variable(const char *block, size_t size, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = block; at < block + size; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

static bool find_in(const char *block, size_t size, pid_t pid, struct ctl_client *out)
{
    const char *socket = variable(block, size, WIRE_ENV_SOCKET);
    const char *key = variable(block, size, WIRE_ENV_KEY);
    bool found =
        socket && key && strlen(socket) < sizeof out->socket - 1 && strlen(key) == WIRE_KEY_SIZE;
    if (found) {
        out->pid = pid;
        strcpy(out->socket, socket);
        memcpy(out->key, key, WIRE_KEY_SIZE);
    }
    return found;
}

static bool find_by_environment(pid_t pid, struct ctl_client *out)
{
    size_t size;
    char *path = xasprintf("/proc/%d/environ", (int)pid);
    char *block = read_whole(path, &size);
    bool found = find_in(block, size, pid, out);
    free(path);
    free(block);
    return found;
}

/* Of a program that has overwritten its environment with a title for ps. */
static bool find_by_memory(pid_t pid, struct ctl_client *out)
{
    size_t size;
    char *block = remote_environment(pid, "TIDEMARK_", &size);
    bool found = find_in(block, size, pid, out);
    free(block);
    return found;
}

/* Of a program that has cleared its environment, as workers of php-fpm do: the library keeps a copy
 * for programs that are executed, in its data or in the zeroed memory after it. */
static bool find_by_library(pid_t pid, struct ctl_client *out)
{
    struct strbuf text = {0};
    struct proc_mappings all = {0};
    bool found = false, before = false; /* before: the mapping before this one is the library's */
    proc_read_mappings(pid, "maps", &text, &all);
    for (size_t i = 0; i < all.items.count && !found; i++) {
        const struct proc_mapping *p = &all.items.items[i];
        size_t size = p->mapping.end - p->mapping.start;
        bool follows = before && !*p->name && p->mapping.start == p[-1].mapping.end;
        before = is_own_library(p->name);
        if ((!before && !follows) || !(p->mapping.flags & MAPPING_WRITE) || size > LIBRARY_MOST)
            continue;
        char *block = xcalloc(size + 1, 1);
        found = remote_memory_copy(pid, p->mapping.start, block, size) &&
                find_in(block, size, pid, out);
        free(block);
    }
    vec_release(&all.items);
    strbuf_release(&text);
    return found;
}

/* `tidemark run` itself does not have these variables, but the program that it started does. */
static bool find_by_child(pid_t pid, struct ctl_client *out)
{
    size_t size;
    char *path = xasprintf("/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *children = read_whole(path, &size), *rest = children;
    bool found = false;
    for (char *word; !found && (word = strtok_r(rest, " \n", &rest));) {
        pid_t child = (pid_t)strtol(word, NULL, 10);
        found = find_by_environment(child, out) || find_by_memory(child, out) ||
                find_by_library(child, out);
    }
    free(path);
    free(children);
    return found;
}

/* A program that `tidemark attach` records has the address in the library's memory. */
static bool find_attached(pid_t pid, struct ctl_client *out)
{
    struct wire_attached there;
    if (!inject_read(pid, &there) || !there.live ||
        !memchr(there.session.socket, 0, sizeof out->socket - 1))
        return false;
    strcpy(out->socket, there.session.socket);
    memcpy(out->key, there.session.key, WIRE_KEY_SIZE);
    out->pid = pid;
    return true;
}

pid_t ctl_client_pid(const char *word)
{
    struct stat st;
    char *end;
    long pid = strtol(word, &end, 10);
    return *word && !*end && pid > 0 && pid < INT32_MAX && stat(word, &st) ? (pid_t)pid : 0;
}

int ctl_client_begin(pid_t pid, struct ctl_client *out, struct err *err)
{
    if (!find_attached(pid, out) && !find_by_environment(pid, out) && !find_by_memory(pid, out) &&
        !find_by_library(pid, out) && !find_by_child(pid, out))
        return err_set(err, -ESRCH,
                       "process %d is not being recorded, or is not yours; start it with 'tidemark "
                       "run'",
                       (int)pid);
    out->pid = pid;
    return 0;
}

/* Nothing listens, or it ended before it took the connection or the request, or before it answered:
 * the kernel has an error for each, and all mean that the collector has ended. */
static int failure(int error)
{
    return error == ECONNREFUSED || error == ECONNRESET ? -EPIPE : -error;
}

static int connected(const struct ctl_client *c)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = strlen(c->socket);
    memcpy(to.sun_path + 1, c->socket, size);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0)
        return fd;
    int code = failure(errno);
    if (fd >= 0)
        close(fd);
    return code;
}

/* Processes of one recording have the same address. One whose collector has ended does not
 * count. */
bool ctl_client_only(struct ctl_client *out, struct strbuf *pids)
{
    DIR *proc = opendir("/proc");
    struct strbuf seen = {0};
    unsigned count = 0;
    strbuf_puts(&seen, "\n");
    for (struct dirent *e; proc && (e = readdir(proc));) {
        struct ctl_client one;
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid <= 0 || !find_by_environment(pid, &one))
            continue;
        char *line = xasprintf("\n%s\n", one.socket);
        int fd = strstr(seen.data, line) ? -1 : connected(&one);
        if (fd >= 0) {
            close(fd);
            strbuf_puts(&seen, line + 1);
            say(pids, count++ ? ", %d" : "%d", pid);
            *out = one;
        }
        free(line);
    }
    if (proc)
        closedir(proc);
    strbuf_release(&seen);
    return count == 1;
}

int ctl_client_ask(const struct ctl_client *c, enum wire_request_kind kind, const char *text)
{
    struct wire_request request = {
        .magic = WIRE_MAGIC, .version = WIRE_VERSION, .kind = kind, .process = (uint32_t)c->pid};
    memcpy(request.key, c->key, WIRE_KEY_SIZE);
    struct iovec out[2] = {{&request, sizeof request}, {(void *)(uintptr_t)text, strlen(text)}};
    struct msghdr send = {.msg_iov = out, .msg_iovlen = 2};
    int fd = connected(c);
    if (fd < 0 || sendmsg(fd, &send, MSG_NOSIGNAL) > 0)
        return fd;
    int code = failure(errno);
    close(fd);
    return code;
}

int ctl_client_answer(int fd, char *text, size_t room, int *memory)
{
    struct wire_reply reply = {0};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec in[2] = {{&reply, sizeof reply}, {text, room - 1}};
    struct msghdr receive = {.msg_iov = in,
                             .msg_iovlen = 2,
                             .msg_control = memory ? &control : NULL,
                             .msg_controllen = memory ? sizeof control : 0};
    ssize_t n;
    do
        n = recvmsg(fd, &receive, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    int code = n < 0 ? failure(errno) : n < (ssize_t)sizeof reply ? -EPIPE : reply.status;
    text[n > (ssize_t)sizeof reply ? (size_t)n - sizeof reply : 0] = '\0';
    const struct cmsghdr *sent = n > 0 && memory ? CMSG_FIRSTHDR(&receive) : NULL;
    if (sent && sent->cmsg_level == SOL_SOCKET && sent->cmsg_type == SCM_RIGHTS)
        memcpy(memory, CMSG_DATA(sent), sizeof *memory);
    close(fd);
    return code;
}

void ctl_client_explain(const struct ctl_client *c, int code, const char *what, const char *text,
                        struct strbuf *out)
{
    if (*text)
        say(out, "%r", text);
    else if (code == -EPIPE)
        say(out, "the recording of process %d has ended\n", c->pid);
    else
        say(out, "%s was not done: %r\n", what, strerror(-code));
}
