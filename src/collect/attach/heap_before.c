#include "collect/attach/heap_before.h"

void heap_before_count(struct remote_modules *m, struct heap_before *out)
{
    (void)m;
    *out = (struct heap_before){0};
}
