#include "report/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "report/summary.h"

/* Some notes name the process that they are about. */
static bool names_process(const char *note)
{
    return strncmp(note, "process ", 8) == 0 || strstr(note, "(process ");
}

static void add_of_program(struct notes *n, const struct profile *program)
{
    for (size_t i = 0; i < program->notes.count; i++) {
        const char *note = program->notes.items[i];
        struct strbuf text = {0};
        if (!names_process(note)) {
            strbuf_printf(&text, "process %" PRIu32 ", ", program->pid);
            summary_program_name(program, &text);
            strbuf_puts(&text, ": ");
        }
        strbuf_puts(&text, note);
        *vec_push(&n->texts) = xstrdup(text.data);
        strbuf_release(&text);
    }
}

void notes_init(struct notes *n, const struct recording *r, const struct profile *p)
{
    const struct profile *program = answer_program(r);
    *n = (struct notes){0};
    for (size_t i = 0; i < p->notes.count; i++)
        *vec_push(&n->texts) = xstrdup(p->notes.items[i]);
    if (program && program->pid != p->pid && !p->together)
        add_of_program(n, program);
}

void notes_release(struct notes *n)
{
    for (size_t i = 0; i < n->texts.count; i++)
        free(n->texts.items[i]);
    vec_release(&n->texts);
}
