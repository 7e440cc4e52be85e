/* The part of a summary about the program: its command, how long it ran, how it ended. */
#include "answer/summary.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/signal_name.h"
#include "answer/merge.h"
#include "answer/text_table.h"
#include "base/units.h"

void summary_argument(struct strbuf *out, const char *arg)
{
    if (*arg && *arg != '#' && !strpbrk(arg, " \t\n'\"\\$`*?[]()<>|&;~!{}")) {
        strbuf_puts(out, arg);
        return;
    }
    strbuf_putc(out, '\'');
    for (; *arg; arg++)
        strbuf_printf(out, *arg == '\'' ? "'\\''" : "%c", *arg);
    strbuf_putc(out, '\'');
}

/* The program's name in front of its arguments. A title that begins with the program's path may
 * have other paths among the arguments: chromium puts all of them into one string. */
static const char *first_word(const struct profile *p)
{
    const char *command = p->command.items[0], *path = p->executable ? p->executable : "";
    size_t size = strlen(path);
    return size && strncmp(command, path, size) == 0 && command[size] == ' '
               ? command + (path_base(path) - path)
               : path_program(command);
}

static void add_command(const struct profile *p, bool with_path, size_t width, struct strbuf *out)
{
    struct strbuf text = {0}, clean = {0};
    strbuf_puts(&text, p->command.count                  ? ""
                       : p->executable && *p->executable ? p->executable
                                                         : "[unknown]");
    for (size_t i = 0; i < p->command.count; i++) {
        strbuf_puts(&text, i ? " " : "");
        summary_argument(&text, i || with_path ? p->command.items[i] : first_word(p));
    }
    say(&clean, "%s", text.data);
    table_front(out, clean.data, width);
    strbuf_release(&text);
    strbuf_release(&clean);
}

void summary_command(const struct profile *p, size_t width, struct strbuf *out)
{
    add_command(p, true, width, out);
}

void summary_sampled(const struct profile *p, const struct style *s, struct strbuf *out)
{
    if (!p->sample_bytes)
        return;
    size_t start = summary_begin(out, s, "sampled");
    say(out, "one allocation per %B; figures are estimates", p->sample_bytes);
    summary_end(out, s, start);
}

void summary_heading(const struct profile *p, const struct style *s, struct strbuf *out)
{
    strbuf_puts(out, style_bold(s));
    summary_command(p, s->width > 60 ? s->width - 20 : 40, out);
    strbuf_puts(out, style_plain(s));
    if (profile_lacks(p, UNKNOWN_PROCESS))
        strbuf_puts(out, ", pid not known\n");
    else
        say(out, ", pid %d\n", p->pid);
    summary_sampled(p, s, out);
}

void summary_short_command(const struct profile *p, size_t width, struct strbuf *out)
{
    add_command(p, false, width, out);
}

void summary_ending(const struct profile *p, struct strbuf *out)
{
    const char *name = signal_name(p->signal);
    if (p->signal && name)
        strbuf_printf(out, "killed by SIG%s (signal %d)", name, p->signal);
    else if (p->signal)
        strbuf_printf(out, "killed by signal %d", p->signal);
    else if (p->execed)
        strbuf_puts(out, "became another program");
    else if (p->attached.detached)
        strbuf_puts(out, "it went on when tidemark detached");
    else if (p->exit_code >= 0)
        strbuf_printf(out, "exit status %d", p->exit_code);
    else
        strbuf_puts(out, "ending unknown");
}

void summary_program_name(const struct profile *p, struct strbuf *out)
{
    const char *path = p->command.count ? p->command.items[0] : p->executable;
    /* "postgres: checkpointer" is a title that a worker has set, not its program. */
    if (p->command.count == 1 && strchr(path, ' ') && p->executable && *p->executable)
        path = p->executable;
    unit_text(out, path && *path ? path_program(path) : "[unknown]");
}

void summary_program(const struct profile *p, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "command");
    summary_command(p, s->width > 51 ? s->width - 11 : 40, out);
    strbuf_putc(out, '\n');
    if (p->merge) {
        merge_program_text(p, s, out);
        summary_sampled(p, s, out);
        return;
    }
    summary_label(out, s, "ran");
    if (profile_lacks(p, UNKNOWN_TIME))
        strbuf_puts(out, "for a time not known, ");
    else
        say(out, "%T, ", p->duration_ns);
    summary_ending(p, out);
    if (profile_lacks(p, UNKNOWN_PROCESS))
        strbuf_puts(out, ", pid not known");
    else
        strbuf_printf(out, ", pid %" PRIu32, p->pid);
    if (p->host && *p->host)
        say(out, " on %s", p->host);
    strbuf_putc(out, '\n');
    summary_sampled(p, s, out);
}
