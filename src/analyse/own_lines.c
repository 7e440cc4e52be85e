#include "analyse/own_lines.h"

struct own_line own_lines_most(const struct places *places)
{
    const struct profile *p = places->total.profile;
    const struct call_tree *t = &places->total.tree;
    struct own_line most = {.call = CALL_NONE, .of_bytes = (int64_t)p->peak_bytes};
    struct map entries = {0}; /* frame of a line -> entry */
    VEC(struct own_line) lines = {0};
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.items[i];
        if (places->of_site[i] == PLACE_NONE || !domain_is_live(s->domain) || !s->at_peak_bytes)
            continue;
        uint32_t call = places_own(places, t->site_call[i]);
        uint32_t *entry = map_at(&entries, t->frame.items[call]);
        if (*entry == MAP_NONE) {
            *entry = (uint32_t)lines.count;
            *vec_push(&lines) = (struct own_line){.call = call};
        }
        struct own_line *line = &lines.items[*entry];
        line->bytes = wrapped(line->bytes, (int64_t)s->at_peak_bytes);
        if (line->bytes > most.bytes) {
            most.bytes = line->bytes;
            most.call = line->call;
        }
    }
    vec_release(&lines);
    map_release(&entries);
    return most;
}
