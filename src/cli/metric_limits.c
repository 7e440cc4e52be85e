#include "cli/metric_limits.h"

#include <stdio.h>

#include "answer/metric_unit.h"

int limits_status(const char *command, const struct limit *limits, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        const struct limit *l = &limits[i];
        struct strbuf has = {0}, may = {0};
        if (!l->broken)
            continue;
        unit_amount(&has, l->metric, l->after);
        unit_amount(&may, l->metric, l->allowed);
        fprintf(stderr, "tidemark %s: %s is %s; --limit '%s' allows %s\n", command,
                metric_name(l->metric), has.data, l->text, may.data);
        strbuf_release(&has);
        strbuf_release(&may);
        status = LIMITS_BROKEN;
    }
    return status;
}
