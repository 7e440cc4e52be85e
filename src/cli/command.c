#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/recording.h"
#include "cli/terminal.h"

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

int command_write(const struct query_options *o, const struct document *d)
{
    struct strbuf out = {0};
    if (o->output == OUTPUT_JSON) {
        document_json(d, &command_sink, &out);
    } else if (o->output == OUTPUT_CSV) {
        rows_csv(&d->rows, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        document_text(d, &style, &out);
    }
    return command_print(o->command->name, &out);
}

int command_ask(int argc, char **argv, const struct query_command *command,
                int (*answer)(struct query_options *o, struct recording *r, struct err *err))
{
    struct query_options o;
    struct recording *recording = NULL;
    struct err err = {{0}};
    int code = 0;
    if (query_options_parse(&o, argc, argv, command, &err))
        return command_fail(command->name, &err, 2);
    if (o.help)
        command->help();
    else if (o.files.count && query_read(&o, o.files.items[0], &recording, &err))
        code = -EIO;
    else
        code = answer(&o, recording, &err);
    recording_free(recording);
    query_options_release(&o);
    return code < 0 ? command_fail(command->name, &err, code == -EINVAL ? 2 : 1) : code;
}
