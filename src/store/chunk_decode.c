#include "store/chunk_decode.h"

#include <stdlib.h>
#include <string.h>

#include "store/merge.h"
#include "store/chunk_table.h"

#define PROCESSES_MAX 1000000 /* more in one file is damage */
#define DEFAULTS_MAX  100

static void take_strings(struct cursor *c, struct recording *r)
{
    for (uint64_t n = cursor_items(c, 1, STRING_INDEX); n > 0 && !c->bad; n--) {
        char *s = cursor_string(c);
        /* A string's number is its position: the writer has no string twice. */
        strpool_add(&r->strings, s);
        free(s);
    }
}

static int by_epoch(const void *a, const void *b)
{
    const struct module *x = a, *y = b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

void chunks_make_consistent(struct profile *p, struct recording *r)
{
    if (!p->nodes.count)
        *vec_push(&p->nodes) = (struct node){0};
    if (!p->frame_runs.count)
        *vec_push(&p->frame_runs) = 0;
    for (size_t i = 0; i + 1 < p->frame_runs.count; i++)
        if (p->frame_runs.items[i + 1] < p->frame_runs.items[i])
            p->frame_runs.items[i + 1] = p->frame_runs.items[i];
    for (size_t i = 0; i < p->frame_runs.count; i++)
        if (p->frame_runs.items[i] > p->frames.count)
            p->frame_runs.items[i] = (uint32_t)p->frames.count;
    if (p->modules.count)
        qsort(p->modules.items, p->modules.count, sizeof *p->modules.items, by_epoch);
    size_t strings = r->strings.strings.count;
    for (size_t i = 0; i < p->frames.count; i++) {
        struct frame *f = &p->frames.items[i];
        if (f->function >= strings)
            f->function = 0;
        if (f->module >= strings)
            f->module = 0;
        if (f->file >= strings)
            f->file = 0;
    }
    for (size_t i = 0; i < p->marks.count; i++) {
        struct mark *m = &p->marks.items[i];
        m->label = m->label < strings ? m->label : 0;
        m->name = strpool_get(&r->strings, m->label);
    }
    for (size_t i = 0; i < p->mark_values.count; i++)
        if (p->mark_values.items[i].key >= strings)
            p->mark_values.items[i].key = 0;
    if (p->merge)
        p->together = (uint32_t)p->merge->inputs.count;
    for (size_t i = 0; i < p->sites.count; i++) {
        struct site *s = &p->sites.items[i];
        if (s->node >= p->nodes.count || s->domain >= DOMAIN_COUNT)
            s->node = s->domain = 0;
        if (s->thread >= p->threads.count) {
            if (!p->threads.count)
                *vec_push(&p->threads) = (struct thread){.name = xstrdup("unknown")};
            s->thread = 0;
        }
    }
}

static void take_defaults(struct cursor *c, struct recording *r)
{
    uint64_t n = cursor_count(c, 3);
    for (c->bad |= n > DEFAULTS_MAX; n > 0 && !c->bad; n--) {
        uint64_t kind = cursor_varint(c);
        char *name = cursor_string(c), *text = cursor_string(c);
        if (c->bad || kind >= DEFAULT_KINDS) { /* from a later version: skipped */
            free(name);
            free(text);
            continue;
        }
        *vec_push(&r->defaults) = (struct recorded_default){(enum default_kind)kind, name, text};
    }
}

static const struct chunk_codec *codec_of(uint32_t type)
{
    for (size_t i = 0; i < CHUNK_CODECS; i++)
        if (chunk_table[i].type == type)
            return &chunk_table[i];
    return NULL;
}

void chunk_decode(const struct chunk *chunk, struct cursor *c, struct recording *r)
{
    if (chunk->type == CHUNK_STRINGS) {
        take_strings(c, r);
        return;
    }
    if (chunk->type == CHUNK_DEFAULTS) {
        if (!r->defaults.count)
            take_defaults(c, r);
        return;
    }
    if (chunk->process > r->profiles.count || chunk->process > PROCESSES_MAX) {
        c->bad = true;
        return;
    }
    if (chunk->process == r->profiles.count && !cursor_room(c, 1, sizeof(struct profile)))
        return;
    if (chunk->process == r->profiles.count)
        *vec_push(&r->profiles) = (struct profile){.exit_code = -1};
    struct profile *p = &r->profiles.items[chunk->process];
    const struct chunk_codec *codec = codec_of(chunk->type);
    if (codec && !codec->is_there(p)) /* a chunk that occurs twice is harmless damage */
        codec->take(c, p);
}

bool chunk_is_known(uint32_t type)
{
    return codec_of(type) || type == CHUNK_DEFAULTS || type == CHUNK_STRINGS;
}
