/*
 * A process, its threads, loaded files and inherited memory as bytes (docs/FORMAT.md).
 */
#include "store/chunk_table.h"

#include <stdlib.h>
#include <string.h>

void process_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->pid);
    strbuf_varint(b, p->ppid);
    strbuf_varint(b, p->command.count);
    for (size_t i = 0; i < p->command.count; i++)
        string_put(b, p->command.items[i]);
    string_put(b, p->executable);
    string_put(b, p->host);
    strbuf_varint(b, p->start_unix_ns);
    strbuf_varint(b, p->duration_ns);
    strbuf_varint(b, zigzag(p->exit_code));
    strbuf_varint(b, (uint64_t)p->signal);
    strbuf_varint(b, (uint64_t)p->complete | (uint64_t)p->execed << 1);
    strbuf_varint(b, p->peak_bytes);
    strbuf_varint(b, p->peak_blocks);
    strbuf_varint(b, p->peak_time_ns);
    strbuf_varint(b, p->peak_skew_bytes);
    strbuf_varint(b, p->memory_peak_bytes);
    strbuf_varint(b, p->rank1);
    strbuf_varint(b, p->ranks);
    strbuf_varint(b, p->sample_bytes);
    strbuf_varint(b, p->waits);
}

void process_take(struct cursor *c, struct profile *p)
{
    p->pid = (uint32_t)cursor_varint(c);
    p->ppid = (uint32_t)cursor_varint(c);
    for (uint64_t n = cursor_count(c, 1); n > 0 && !c->bad; n--)
        *vec_push(&p->command) = cursor_string(c);
    free(p->executable);
    p->executable = cursor_string(c);
    free(p->host);
    p->host = cursor_string(c);
    p->start_unix_ns = cursor_varint(c);
    p->duration_ns = cursor_varint(c);
    p->exit_code = (int)unzigzag(cursor_varint(c));
    p->signal = (int)cursor_varint(c) & 0xff;
    uint64_t flags = cursor_varint(c);
    p->complete = flags & 1;
    p->execed = flags >> 1 & 1;
    p->peak_bytes = cursor_varint(c);
    p->peak_blocks = cursor_varint(c);
    p->peak_time_ns = cursor_varint(c);
    p->peak_skew_bytes = cursor_varint(c);
    p->memory_peak_bytes = c->at < c->end ? cursor_varint(c) : 0;
    p->rank1 = c->at < c->end ? (uint32_t)cursor_varint(c) : 0;
    p->ranks = c->at < c->end ? (uint32_t)cursor_varint(c) : 0;
    p->sample_bytes = c->at < c->end ? cursor_varint(c) : 0;
    p->waits = c->at < c->end ? cursor_varint(c) : 0;
    if (p->sample_bytes > SAMPLE_BYTES_MOST) {
        c->bad = true;
        p->sample_bytes = 0;
    }
}

void threads_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->threads.count);
    for (size_t i = 0; i < p->threads.count; i++) {
        const struct thread *t = &p->threads.items[i];
        strbuf_varint(b, t->tid);
        string_put(b, t->name);
        strbuf_varint(b, t->start_ns);
        strbuf_varint(b, t->end_ns);
    }
}

void threads_take(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_items(c, 4, sizeof(struct thread)); n > 0 && !c->bad; n--) {
        struct thread *t = vec_push(&p->threads);
        *t = (struct thread){.tid = (uint32_t)cursor_varint(c)};
        t->name = cursor_string(c);
        t->start_ns = cursor_varint(c);
        t->end_ns = cursor_varint(c);
    }
}

void modules_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->modules.count);
    for (size_t i = 0; i < p->modules.count; i++) {
        const struct module *m = &p->modules.items[i];
        strbuf_varint(b, m->start);
        strbuf_varint(b, m->end - m->start);
        strbuf_varint(b, zigzag((int64_t)(m->start - m->bias)));
        strbuf_varint(b, m->epoch);
        string_put(b, m->path);
        strbuf_varint(b, m->build_id_size);
        strbuf_add(b, m->build_id, m->build_id_size);
    }
}

void modules_take(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_items(c, 6, sizeof(struct module)); n > 0 && !c->bad; n--) {
        struct module *m = vec_push(&p->modules);
        *m = (struct module){.start = cursor_varint(c)};
        m->end = m->start + cursor_varint(c);
        m->bias = m->start - (uint64_t)unzigzag(cursor_varint(c));
        m->epoch = (uint32_t)cursor_varint(c);
        m->path = cursor_string(c);
        uint64_t size = cursor_count(c, 1);
        if (size > sizeof m->build_id) {
            c->bad = true;
            return;
        }
        m->build_id_size = (uint32_t)size;
        memcpy(m->build_id, c->at, size);
        c->at += size;
    }
}

void inherited_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->inherited.parent);
    strbuf_varint(b, p->inherited.blocks);
    strbuf_varint(b, p->inherited.bytes);
    strbuf_varint(b, p->inherited.freed_blocks);
    strbuf_varint(b, p->inherited.freed_bytes);
}

void inherited_take(struct cursor *c, struct profile *p)
{
    p->inherited.parent = (uint32_t)cursor_varint(c);
    p->inherited.blocks = cursor_varint(c);
    p->inherited.bytes = cursor_varint(c);
    p->inherited.freed_blocks = cursor_varint(c);
    p->inherited.freed_bytes = cursor_varint(c);
}

#define ATTACHED_REACH 16u /* flag: struct older_reach is there */

void attached_put(struct strbuf *b, const struct profile *p)
{
    const struct attached_before *a = &p->attached;
    strbuf_varint(b, (uint64_t)a->detached | (uint64_t)a->before << 1 |
                         (a->reach.known ? ATTACHED_REACH : 0));
    strbuf_varint(b, a->before_blocks);
    strbuf_varint(b, a->before_bytes);
    strbuf_varint(b, a->frees);
    if (!a->reach.known)
        return;
    strbuf_varint(b, a->reach.blocks);
    strbuf_varint(b, a->reach.bytes);
    strbuf_varint(b, a->reach.lost_blocks);
    strbuf_varint(b, a->reach.lost_bytes);
}

void attached_take(struct cursor *c, struct profile *p)
{
    struct attached_before *a = &p->attached;
    uint64_t flags = cursor_varint(c);
    a->is = true;
    a->detached = flags & 1;
    a->before = flags >> 1 & 7;
    a->before_blocks = cursor_varint(c);
    a->before_bytes = cursor_varint(c);
    a->frees = cursor_varint(c);
    c->bad |= (flags & (ATTACHED_REACH - 1)) >> 1 > BEFORE_STRANGE || flags >= ATTACHED_REACH * 2;
    if (flags & ATTACHED_REACH) {
        a->reach.known = true;
        a->reach.blocks = cursor_varint(c);
        a->reach.bytes = cursor_varint(c);
        a->reach.lost_blocks = cursor_varint(c);
        a->reach.lost_bytes = cursor_varint(c);
        c->bad |= a->reach.lost_blocks > a->reach.blocks || a->reach.lost_bytes > a->reach.bytes;
    }
    if (c->bad)
        *a = (struct attached_before){0};
}

void imported_put(struct strbuf *b, const struct profile *p)
{
    string_put(b, p->imported.from);
    string_put(b, p->imported.file);
    strbuf_varint(b, p->imported.unknown);
}

void imported_take(struct cursor *c, struct profile *p)
{
    p->imported.from = cursor_string(c);
    p->imported.file = cursor_string(c);
    p->imported.unknown = (uint32_t)cursor_varint(c) & UNKNOWN_ALL;
}

void sampling_put(struct strbuf *b, const struct profile *p)
{
    const struct sampling *g = &p->sampling;
    strbuf_varint(b, (uint64_t)g->alone | (uint64_t)g->counted << 1 | (uint64_t)g->wall << 2 |
                         (uint64_t)g->kernel << 3 | (uint64_t)g->timer << 5);
    strbuf_varint(b, g->cpu_period_ns);
    strbuf_varint(b, g->fault_period);
    strbuf_varint(b, g->lost);
    strbuf_varint(b, g->user_ns);
    strbuf_varint(b, g->system_ns);
    strbuf_varint(b, g->minor_faults);
    strbuf_varint(b, g->major_faults);
}

void sampling_take(struct cursor *c, struct profile *p)
{
    struct sampling *g = &p->sampling;
    uint64_t flags = cursor_varint(c);
    g->alone = flags & 1;
    g->counted = flags >> 1 & 1;
    g->wall = flags >> 2 & 1;
    g->kernel = flags >> 3 & 3;
    g->timer = flags >> 5 & 1;
    if (g->kernel > KERNEL_ESTIMATED) {
        c->bad = true;
        g->kernel = KERNEL_COUNTED;
    }
    g->cpu_period_ns = cursor_varint(c);
    g->fault_period = cursor_varint(c);
    g->lost = cursor_varint(c);
    g->user_ns = cursor_varint(c);
    g->system_ns = cursor_varint(c);
    g->minor_faults = cursor_varint(c);
    g->major_faults = cursor_varint(c);
}

void notes_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->notes.count);
    for (size_t i = 0; i < p->notes.count; i++)
        string_put(b, p->notes.items[i]);
}

void notes_take(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_count(c, 1); n > 0 && !c->bad; n--)
        *vec_push(&p->notes) = cursor_string(c);
}
