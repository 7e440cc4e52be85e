/* tidemark detach PID: ends what `tidemark attach PID` began. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/ctl_client.h"
#include "cli/process_id.h"
#include "collect/attach/attach_process.h"

static const char help[] =
    "usage: tidemark detach PID\n"
    "\n"
    "Ends the recording of a program that 'tidemark attach PID' records, and waits until the\n"
    "program's code is restored and the recording is written. If that tidemark was killed, this\n"
    "command only restores the program's code.\n"
    "\n"
    "      --help        this text\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark detach 1234\n";

/* Its collector is gone: does what it would have done. */
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

static int detach(pid_t pid)
{
    struct wire_attached there;
    if (!inject_read(pid, &there) || (!there.live && !there.patched)) {
        fprintf(stderr, "tidemark detach: process %d has not been attached to, or is not yours\n",
                (int)pid);
        return 1;
    }
    struct ctl_client with;
    struct err err;
    char answer[WIRE_TEXT_MAX] = "";
    int code = ctl_client_begin(pid, &with, &err);
    int fd = code ? code : ctl_client_ask(&with, WIRE_DETACH, "");
    if (code)
        return restore(pid);
    code = fd < 0 ? fd : ctl_client_answer(fd, answer, sizeof answer, NULL);
    if (code == -EPIPE) /* the collector was killed, perhaps before it answered */
        return restore(pid);
    if (code) {
        struct strbuf why = {0};
        ctl_client_explain(&with, code, "detach", answer, &why);
        fprintf(stderr, "tidemark detach: %s", why.data);
        strbuf_release(&why);
        return 1;
    }
    fputs(answer, stdout);
    return 0;
}

int cmd_detach(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    struct err err;
    pid_t pid;
    if (argc > 1 && argv[1][0] == '-')
        err_set(&err, -EINVAL, "unknown option '%s'; it takes a process id or --help", argv[1]);
    else if (argc != 2)
        err_set(&err, -EINVAL, "it takes one process id: tidemark detach PID");
    else if (!process_id_parse(argv[1], &pid, &err))
        return detach(pid);
    return command_fail("detach", &err, 2);
}
