#include "answer/next_command.h"

#include <string.h>

#include "base/say.h"
#include "answer/summary.h"
#include "base/units.h"

static void next_word(struct strbuf *out, const char *word)
{
    struct strbuf quoted = {0};
    summary_argument(&quoted, word);
    unit_text(out, quoted.data);
    strbuf_release(&quoted);
}

void next_file(struct strbuf *out, const char *file)
{
    if (*file == '-')
        strbuf_puts(out, "./");
    next_word(out, file);
}

void next_option(struct strbuf *out, const char *option, const char *argument)
{
    if (!argument)
        return;
    strbuf_printf(out, " %s ", option);
    next_word(out, argument);
}

/* A relative path of the question matches the whole path that was found for it. */
static bool is_resolved_path(const char *path, const char *relative)
{
    size_t size = strlen(path), tail = strlen(relative);
    return *path == '/' && *relative != '/' && size > tail &&
           strcmp(path + size - tail, relative) == 0;
}

void next_filter(struct strbuf *out, const struct stack_filter *f)
{
    for (size_t i = 0; i < f->within.patterns.count; i++)
        next_option(out, "--within", f->within.patterns.items[i].text);
    for (size_t i = 0; i < f->paths.count; i++)
        if (!i || !is_resolved_path(f->paths.items[i], f->paths.items[i - 1]))
            next_option(out, "--within-path", f->paths.items[i]);
    for (size_t i = 0; i < f->ignore.patterns.count; i++)
        next_option(out, "--ignore", f->ignore.patterns.items[i].text);
    next_option(out, "--thread", f->thread);
    say(out, "%r%r",
        f->python_only   ? " --python-only"
        : f->native_only ? " --native-only"
                         : "",
        f->no_fold ? " --no-fold" : "");
}
