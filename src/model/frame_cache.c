#include "model/frame_cache.h"

#include <stdlib.h>
#include <string.h>

#include "model/suppress_presets.h"
#include "store/held_recordings.h"

#define KEPT 4

static struct kept {
    struct frame_table table; /* without a key: an empty slot */
    /* Of the held recordings; if it has changed, the table may refer to freed memory. */
    unsigned generation;
} kept[KEPT]; /* the most recent first */

static void add_patterns(struct strbuf *key, char kind, const struct pattern_list *l)
{
    for (size_t i = 0; i < l->patterns.count; i++)
        strbuf_printf(key, "%c%zu:%s", kind, strlen(l->patterns.items[i].text),
                      l->patterns.items[i].text);
}

char *frame_cache_patterns(const struct stack_filter *f)
{
    struct strbuf text = {0};
    strbuf_puts(&text, "");
    add_patterns(&text, 'w', &f->within);
    add_patterns(&text, 'i', &f->ignore);
    return strbuf_detach(&text);
}

char *frame_cache_key(const struct recording *r, const struct stack_filter *f)
{
    struct strbuf key = {0};
    if (!f || !recording_is_held(r) || f->match || f->paths.count || f->merge.rules.count)
        return NULL;
    strbuf_printf(&key, "%d%d%d", f->python_only, f->native_only, f->no_defaults);
    add_patterns(&key, 'f', &f->fold);
    if (r->defaults.count) { /* recorded patterns are combined with the question's */
        add_patterns(&key, 'w', &f->within);
        add_patterns(&key, 'i', &f->ignore);
    }
    return strbuf_detach(&key);
}

bool frame_cache_take(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct stack_filter *filter)
{
    char *key = frame_cache_key(r, filter);
    bool found = false;
    for (size_t i = 0; key && i < KEPT && !found; i++) {
        struct kept *k = &kept[i];
        found = k->table.key && k->generation == recording_held_generation() &&
                k->table.recording == r && k->table.profile == p && strcmp(k->table.key, key) == 0;
        if (!found)
            continue;
        *t = k->table;
        *k = (struct kept){0};
        t->filter = filter;
        t->taken++;
        if (filter->presets && !t->presets.rules.count)
            presets_add(&t->presets);
        char *patterns = frame_cache_patterns(filter);
        if (strcmp(patterns, t->patterns) != 0)
            frame_table_set_patterns(t, filter);
        free(t->patterns);
        t->patterns = patterns;
    }
    free(key);
    return found;
}

void frame_cache_give(struct frame_table *t)
{
    struct kept *last = &kept[KEPT - 1]; /* the least recently used */
    if (last->table.key)
        frame_table_free(&last->table);
    memmove(&kept[1], &kept[0], (KEPT - 1) * sizeof *kept);
    kept[0] = (struct kept){.table = *t, .generation = recording_held_generation()};
    *t = (struct frame_table){0};
}
