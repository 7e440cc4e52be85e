#include "model/not_recorded.h"

#include <string.h>

/* This file knows the notes that src/collect/session/not_recorded.c, saving.c and
 * src/collect/counting/target_finish.c write. */

enum recorded not_recorded(const struct profile *p, size_t *note)
{
    static const struct {
        const char *text;
        enum recorded means;
    } begins[] = {
        {"nothing could be seen in ", RECORDED_NOTHING},
        {"nothing was recorded of ", RECORDED_NOTHING},
        {"no allocations by ", RECORDED_PARTLY},
        {"only allocations by libraries ", RECORDED_PARTLY},
    };
    if (p->together || p->sampling.alone)
        return RECORDED;
    for (size_t i = 0; i < p->notes.count; i++)
        for (size_t k = 0; k < sizeof begins / sizeof *begins; k++) {
            /* The program's own profile also has notes about children, which contain a process
             * number. */
            if (strncmp(p->notes.items[i], begins[k].text, strlen(begins[k].text)) != 0 ||
                strstr(p->notes.items[i], "(process "))
                continue;
            *note = i;
            return begins[k].means;
        }
    return RECORDED;
}

const char *not_recorded_elsewhere(const struct profile *program)
{
    for (size_t i = 0; program && i < program->notes.count; i++) {
        const char *note = program->notes.items[i];
        if (strstr(note, "nothing could be seen") || strstr(note, " not recorded: "))
            return note;
    }
    return NULL;
}
