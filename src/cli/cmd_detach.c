/* tidemark detach PID: ends what `tidemark attach PID` began. */
#include "cli/commands.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/conversation.h"
#include "collect/attach/attach_process.h"

static const char help[] =
    "usage: tidemark detach PID\n"
    "\n"
    "Ends the recording of a program that 'tidemark attach PID' records, and waits until the\n"
    "program has its own code back and the recording is written. If that tidemark was killed,\n"
    "only gives the program its code back.\n"
    "\n"
    "      --help        this text\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark detach 1234\n";

static int usage(const char *format, const char *what)
{
    fputs("tidemark detach: ", stderr);
    fprintf(stderr, format, what);
    fputs("; 'tidemark detach --help' says more\n", stderr);
    return 2;
}

/* Its collector is gone: we do what it would have done. */
static int restore(pid_t pid)
{
    struct attach_process p;
    struct attach_answer answer = {0};
    int code = attach_process_restore(&p, pid, &answer.err);
    if (!code) {
        attach_process_answer(&p, true, &answer);
        code = answer.code;
    }
    if (code)
        fprintf(stderr, "tidemark detach: %s\n", answer.err.text);
    else
        printf("process %d has its own code again; what was recorded is in the last checkpoint\n",
               (int)pid);
    return code != 0;
}

int cmd_detach(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (argc > 1 && argv[1][0] == '-')
        return usage("unknown option '%s'", argv[1]);
    if (argc != 2)
        return usage("it takes one process id%s", "");
    char *end;
    long pid = strtol(argv[1], &end, 10);
    if (*end || pid <= 0 || pid > INT32_MAX)
        return usage("'%s' is not a process id", argv[1]);
    struct wire_attached there;
    if (!inject_read((pid_t)pid, &there) || (!there.live && !there.patched)) {
        fprintf(stderr,
                "tidemark detach: process %ld was not attached to, or is not yours; 'tidemark "
                "attach' does that\n",
                pid);
        return 1;
    }
    struct conversation with;
    struct err err;
    char answer[WIRE_TEXT_MAX] = "";
    int code = conversation_begin((pid_t)pid, &with, &err);
    int fd = code ? code : conversation_ask(&with, WIRE_DETACH, "");
    if (fd == -ECONNREFUSED || code)
        return restore((pid_t)pid);
    code = fd < 0 ? fd : conversation_answer(fd, answer, sizeof answer, NULL);
    if (code == -ECONNRESET || code == -EPIPE)
        return restore((pid_t)pid); /* it was killed before it answered */
    if (code) {
        struct strbuf why = {0};
        conversation_explain(&with, code, "detach", answer, &why);
        fprintf(stderr, "tidemark detach: %s", why.data);
        strbuf_release(&why);
        return 1;
    }
    fputs(answer, stdout);
    return 0;
}
