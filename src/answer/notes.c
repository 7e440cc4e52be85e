#include "answer/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "answer/summary.h"

/* Some notes name the process that they are about. */
static bool names_process(const char *note)
{
    return text_begins(note, "process ") || strstr(note, "(process ");
}

/* Notes about this very process are among its own notes as well. */
static bool is_about(const char *note, const struct profile *p)
{
    unsigned pid;
    return sscanf(note, "process %u, ", &pid) == 1 && pid == p->pid;
}

static void add_of_program(struct notes *n, const struct profile *program, const struct profile *p)
{
    for (size_t i = 0; i < program->notes.count; i++) {
        const char *note = program->notes.items[i];
        struct strbuf text = {0};
        if (is_about(note, p))
            continue;
        if (!names_process(note)) {
            strbuf_printf(&text, "process %" PRIu32 ", ", program->pid);
            summary_program_name(program, &text);
            strbuf_puts(&text, ": ");
        }
        strbuf_puts(&text, note);
        *vec_push(&n->made) = strbuf_detach(&text);
        *vec_push(&n->texts) = *vec_last(&n->made);
    }
}

void notes_init(struct notes *n, const struct recording *r, const struct profile *p)
{
    const struct profile *program = answer_program(r);
    *n = (struct notes){0};
    for (size_t i = 0; i < p->notes.count; i++)
        *vec_push(&n->texts) = p->notes.items[i];
    if (program && program->pid != p->pid && !p->together)
        add_of_program(n, program, p);
}

void notes_drop(struct notes *n, size_t number)
{
    n->texts.count--;
    for (size_t i = number; i < n->texts.count; i++)
        n->texts.items[i] = n->texts.items[i + 1];
}

void notes_release(struct notes *n)
{
    for (size_t i = 0; i < n->made.count; i++)
        free(n->made.items[i]);
    vec_release(&n->made);
    vec_release(&n->texts);
}
