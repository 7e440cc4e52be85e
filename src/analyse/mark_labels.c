#include "analyse/mark_labels.h"

#include <string.h>

#include "base/map.h"

static bool is_own_label(const char *label)
{
    return strcmp(label, "snapshot") != 0 && strcmp(label, "leaks") != 0;
}

const char *labels_busiest(const struct profile *p, size_t *count)
{
    const char *best = NULL;
    struct map counts = {0};
    *count = 0;
    for (size_t i = 0; i < p->marks.count; i++) {
        uint32_t *n = map_at(&counts, p->marks.items[i].label);
        *n = *n == MAP_NONE ? 1 : *n + 1;
        if (*n > *count && is_own_label(p->marks.items[i].name)) {
            *count = *n;
            best = p->marks.items[i].name;
        }
    }
    map_release(&counts);
    return best;
}
