#include "model/not_recorded.h"

#include <string.h>

enum recorded not_recorded(const struct profile *p, size_t *note)
{
    /* The notes as src/collect/session/not_recorded.c and saving.c write them. */
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
