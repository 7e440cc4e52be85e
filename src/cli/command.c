#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void write_out(void *context, struct strbuf *ready)
{
    (void)context;
    fwrite(ready->data, 1, ready->size, stdout);
    strbuf_clear(ready);
}

const struct report_sink command_sink = {.take = write_out};

int command_fail(const char *name, const struct err *err, int status)
{
    fprintf(stderr, "tidemark %s: %s\n", name, err->text);
    return status;
}

int command_print(const char *name, struct strbuf *out)
{
    write_out(NULL, out);
    strbuf_release(out);
    if (!fflush(stdout) && !ferror(stdout))
        return 0;
    fprintf(stderr, "tidemark %s: cannot write the output: %s\n", name, strerror(errno));
    return 1;
}
