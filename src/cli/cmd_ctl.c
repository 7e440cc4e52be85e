/*
 * tidemark ctl PID ACTION: to a running recording.
 *
 * A recorded program has the collector's address and key in its environment, which only its own
 * user can read: who can read it may ask.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "wire/layout.h"

static const char help[] =
    "usage: tidemark ctl PID ACTION\n"
    "\n"
    "Controls a running recording. PID is that of the program, of one of its children, or of\n"
    "`tidemark run` itself.\n"
    "\n"
    "  status            how long it has run, how much it has recorded, and its file\n"
    "  mark LABEL        make a mark, as tide_mark(LABEL) does\n"
    "  snapshot [FILE]   write the recording so far; %I in FILE counts, '|command' pipes\n"
    "  leaks             scan for leaks, and mark the moment 'leaks'\n"
    "  pause             do not record allocations until resume; frees are recorded\n"
    "  resume            record allocations again\n"
    "\n"
    "Prints one line that says what was done.\n"
    "\n"
    "      --help        this text\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark ctl $(pgrep myserver) status\n"
    "  tidemark ctl 1234 mark 'after loading'\n"
    "  tidemark ctl 1234 snapshot '|gzip -9c > app.%I.tide.gz'\n";

static const struct action {
    const char *name;
    enum wire_request_kind kind;
    int least, most;  /* arguments */
    const char *done; /* what to say of it; NULL: the answer does */
} actions[] = {{"status", WIRE_STATUS, 0, 0, NULL},
               {"mark", WIRE_MARK, 1, 1, "marked this moment: use its label with --at and --since"},
               {"snapshot", WIRE_SNAPSHOT, 0, 1, NULL},
               {"leaks", WIRE_SCAN, 0, 0, NULL},
               {"pause", WIRE_PAUSE, 0, 0, "paused: allocations are not recorded, frees are"},
               {"resume", WIRE_RESUME, 0, 0, "allocations are recorded again"}};

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

/* The value of a variable in a block of NAME=VALUE, each ended by a NUL; NULL: it has none. */
static const char *variable(const char *block, size_t size, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = block; at < block + size; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

struct address {
    char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char key[WIRE_KEY_SIZE];
};

static bool address_of(pid_t pid, struct address *out)
{
    size_t size;
    char *path = xasprintf("/proc/%d/environ", (int)pid);
    char *block = read_whole(path, &size);
    const char *socket = variable(block, size, WIRE_ENV_SOCKET);
    const char *key = variable(block, size, WIRE_ENV_KEY);
    bool found =
        socket && key && strlen(socket) < sizeof out->socket - 1 && strlen(key) == WIRE_KEY_SIZE;
    if (found) {
        strcpy(out->socket, socket);
        memcpy(out->key, key, WIRE_KEY_SIZE);
    }
    free(path);
    free(block);
    return found;
}

/* `tidemark run` has no such environment, but the program that it started. */
static bool address_by_child(pid_t pid, struct address *out)
{
    size_t size;
    char *path = xasprintf("/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *children = read_whole(path, &size), *rest = children;
    bool found = false;
    for (char *word; !found && (word = strtok_r(rest, " \n", &rest));)
        found = address_of((pid_t)strtol(word, NULL, 10), out);
    free(path);
    free(children);
    return found;
}

/* Sends and waits for the answer; a negative errno if that cannot be had. */
static int converse(const struct address *a, struct wire_request *request, const char *text,
                    struct wire_reply *reply, char *answer, size_t room)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = strlen(a->socket);
    memcpy(to.sun_path + 1, a->socket, size);
    memcpy(request->key, a->key, WIRE_KEY_SIZE);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct iovec out[2] = {{request, sizeof *request}, {(void *)(uintptr_t)text, strlen(text)}};
    struct iovec in[2] = {{reply, sizeof *reply}, {answer, room - 1}};
    struct msghdr send = {.msg_iov = out, .msg_iovlen = 2};
    struct msghdr receive = {.msg_iov = in, .msg_iovlen = 2};
    ssize_t n = -1;
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0 &&
        sendmsg(fd, &send, MSG_NOSIGNAL) > 0)
        n = recvmsg(fd, &receive, 0);
    int code = n < 0 ? -errno : n < (ssize_t)sizeof *reply ? -EPIPE : reply->status;
    answer[n > (ssize_t)sizeof *reply ? (size_t)n - sizeof *reply : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return code;
}

static int usage(const char *format, const char *what)
{
    fputs("tidemark ctl: ", stderr);
    fprintf(stderr, format, what);
    fputs("; 'tidemark ctl --help' lists the actions\n", stderr);
    return 2;
}

/* A file's name means one of the caller's folder; the collector may have another. */
static char *made_absolute(const char *name)
{
    char *folder = *name && *name != '/' && *name != '|' ? getcwd(NULL, 0) : NULL;
    char *path = folder ? xasprintf("%s/%s", folder, name) : xstrdup(name);
    free(folder);
    return path;
}

int cmd_ctl(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    for (int i = 1; i < argc && i < 3; i++) /* what follows may be any text */
        if (argv[i][0] == '-' && !(argv[i][1] >= '0' && argv[i][1] <= '9'))
            return usage("unknown option '%s'", argv[i]);
    if (argc < 3)
        return usage("it takes a PID and an action%s", "");
    char *end;
    long pid = strtol(argv[1], &end, 10);
    if (*end || pid <= 0)
        return usage("'%s' is not a process id", argv[1]);
    const struct action *action = NULL;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, argv[2]) == 0)
            action = &actions[i];
    if (!action)
        return usage("unknown action '%s'", argv[2]);
    if (argc - 3 < action->least || argc - 3 > action->most)
        return usage(action->least  ? "%s takes one argument"
                     : action->most ? "%s takes one argument at most"
                                    : "%s takes no argument",
                     action->name);
    struct address address;
    if (!address_of((pid_t)pid, &address) && !address_by_child((pid_t)pid, &address)) {
        fprintf(stderr,
                "tidemark ctl: process %ld is not being recorded, or is not yours; start it with "
                "'tidemark run'\n",
                pid);
        return 1;
    }
    struct wire_request request = {.magic = WIRE_MAGIC,
                                   .version = WIRE_VERSION,
                                   .kind = action->kind,
                                   .process = (uint32_t)pid};
    struct wire_reply reply = {0};
    char answer[WIRE_TEXT_MAX];
    char *text = action->kind == WIRE_SNAPSHOT ? made_absolute(argc > 3 ? argv[3] : "")
                                               : xstrdup(argc > 3 ? argv[3] : "");
    int code = converse(&address, &request, text, &reply, answer, sizeof answer);
    free(text);
    if (code && *answer) {
        fprintf(stderr, "tidemark ctl: %s", answer);
        return 1;
    }
    if (code == -ECONNREFUSED || code == -EPIPE) {
        fprintf(stderr, "tidemark ctl: the recording of process %ld has ended\n", pid);
        return 1;
    }
    if (code) {
        fprintf(stderr, "tidemark ctl: %s was not done: %s\n", action->name, strerror(-code));
        return 1;
    }
    fputs(answer, stdout);
    if (action->done)
        puts(action->done);
    return 0;
}
