#include "analyse/wrappers.h"

#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "model/function_name.h"

#define MOST  0.5  /* of all bytes: worth a hint */
#define LEAST 0.01 /* of all bytes: worth a name in the hint */

struct leaf {
    uint32_t name, caller;
    bool several; /* it has several callers */
    uint64_t bytes;
};

/* Letters, digits and what qualifies a name: nothing that has a special meaning in a pattern. */
static bool is_plain(struct name_part name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!strchr("_:0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                    name.text[i]))
            return false;
    return name.size > 0;
}

static bool is_named_so(const char *name)
{
    struct name_part bare = name_bare(name);
    if (!is_plain(bare) || bare.text != name)
        return false;
    char *text = xstrndup(bare.text, bare.size);
    bool named = strcasestr(text, "alloc") || strcasestr(text, "strdup") ||
                 strcasestr(text, "strndup") || strcasestr(text, "memdup");
    free(text);
    return named;
}

/* Is another overload of the function already among them? One pattern then matches both. */
static bool is_among(const struct wrappers *w, const struct answer *a, const char *name)
{
    struct name_part bare = name_bare(name);
    for (size_t i = 0; i < w->count; i++) {
        struct name_part other = name_bare(frame_table_string(&a->frames, w->names[i]));
        if (other.size == bare.size && memcmp(other.text, bare.text, bare.size) == 0)
            return true;
    }
    return false;
}

static int by_bytes(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

bool wrappers_find(struct wrappers *w, const struct answer *a)
{
    const struct call_tree *t = &a->tree;
    const struct call_frame *frames = a->frames.frames.items;
    VEC(struct leaf) leaves = {0};
    struct map numbers = {0};
    double all = 0, theirs = 0;
    *w = (struct wrappers){0};
    for (size_t i = 0; i < a->measure.count; i++) {
        uint32_t call = t->site_call[i];
        int64_t bytes = a->measure.sites[i].amount;
        if (call == CALL_NONE || !call || bytes <= 0)
            continue;
        uint32_t name = frames[t->frame.items[call]].name, up = t->parent.items[call];
        uint32_t caller = up ? frames[t->frame.items[up]].name : 0;
        uint32_t *number = map_at(&numbers, name);
        if (*number == MAP_NONE) {
            *number = (uint32_t)leaves.count;
            *vec_push(&leaves) = (struct leaf){.name = name, .caller = caller};
        }
        struct leaf *leaf = &leaves.items[*number];
        leaf->several |= caller != leaf->caller;
        leaf->bytes += (uint64_t)bytes;
        all += (double)bytes;
    }
    if (leaves.count)
        qsort(leaves.items, leaves.count, sizeof *leaves.items, by_bytes);
    for (size_t i = 0; i < leaves.count && w->count < WRAPPERS_SHOWN; i++) {
        const struct leaf *leaf = &leaves.items[i];
        const char *name = frame_table_string(&a->frames, leaf->name);
        if (!leaf->several || (double)leaf->bytes < LEAST * all || !is_named_so(name))
            continue;
        if (!is_among(w, a, name))
            w->names[w->count++] = leaf->name;
        theirs += (double)leaf->bytes;
    }
    vec_release(&leaves);
    map_release(&numbers);
    w->share = all > 0 ? theirs / all : 0;
    return w->share >= MOST;
}

void wrappers_pattern(const struct wrappers *w, const struct answer *a, struct strbuf *out)
{
    bool arguments = false; /* arguments follow the names of C++ */
    strbuf_puts(out, w->count > 1 ? "^(" : "^");
    for (size_t i = 0; i < w->count; i++) {
        const char *name = frame_table_string(&a->frames, w->names[i]);
        struct name_part bare = name_bare(name);
        arguments |= name[bare.size] != '\0';
        strbuf_puts(out, i ? "|" : "");
        strbuf_add(out, bare.text, bare.size);
    }
    say(out, "%r%r", w->count > 1 ? ")" : "", arguments ? "([(<]|$)" : "$");
}
