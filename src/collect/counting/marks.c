#include "collect/counting/marks.h"

#include <stdlib.h>
#include <string.h>

#include "collect/counting/target.h"
#include "machine/page.h"

static_assert(MARK_NAME_MOST == WIRE_LABEL_SIZE - 1, "a mark's name is a label");

static void copy_text(char text[WIRE_LABEL_SIZE + 1], const uint64_t *words)
{
    memcpy(text, words + WIRE_RECORD_MAX - WIRE_NOTE_TEXT, WIRE_LABEL_SIZE);
    text[WIRE_LABEL_SIZE] = '\0';
}

static uint32_t text_of(struct target *t, const uint64_t *words)
{
    char text[WIRE_LABEL_SIZE + 1];
    copy_text(text, words);
    if (!t->marks.labels.strings.count)
        strpool_add(&t->marks.labels, "");
    return strpool_add(&t->marks.labels, text);
}

/* The program's label, or the function that was entered. */
static uint32_t label_of(struct target *t, const uint64_t *words)
{
    const char *function = mark_on_entered(t->mark_on, words[7]);
    uint32_t text = text_of(t, words);
    return function ? strpool_add(&t->marks.labels, function) : text;
}

static struct stamp stamp_of(const struct target *t, const uint64_t *words)
{
    const uint64_t page = page_bytes();
    return (struct stamp){.time_ns = target_time(t, words[1]),
                          .vm_bytes = words[2] * page,
                          .rss_bytes = words[3] * page,
                          .anon_bytes = (words[3] - words[4]) * page,
                          .minor_faults = words[5],
                          .major_faults = words[6]};
}

#define REACH 1024 /* marks of other threads that may come in between */

/* The mark that a note belongs to, which precedes it; NULL: it does not exist. */
static struct pending_mark *mark_before(struct target *t, uint32_t tick)
{
    size_t first = t->marks.pending.count > REACH ? t->marks.pending.count - REACH : 0;
    for (size_t i = t->marks.pending.count; i-- > first;)
        if (t->marks.pending.items[i].tick == tick)
            return &t->marks.pending.items[i];
    return NULL;
}

static_assert((int)WIRE_ALLOCATOR_GLIBC == STAMP_GLIBC &&
                  (int)WIRE_ALLOCATOR_MIMALLOC == STAMP_MIMALLOC,
              "the file has the wire's numbers");

void stamp_set_held(struct stamp *s, const struct wire_held *held)
{
    if (held->allocator >= STAMP_ALLOCATORS)
        return;
    s->allocator = held->allocator;
    s->held_bytes = held->held_bytes;
    s->free_bytes = held->free_bytes;
}

static void note_held(struct target *t, uint32_t tick, const uint64_t *words)
{
    struct pending_mark *mark = mark_before(t, tick);
    struct wire_held held;
    memcpy(&held, &words[1], sizeof held);
    if (mark)
        stamp_set_held(&mark->stamp, &held);
}

static void note_arenas(struct target *t, uint32_t tick, uint64_t absent_bytes)
{
    struct pending_mark *mark = mark_before(t, tick);
    if (mark) {
        mark->absent_bytes = absent_bytes;
        mark->absent_known = true;
    }
}

uint32_t marks_note(struct target *t, uint32_t thread, const uint64_t *words)
{
    uint32_t tick = (uint32_t)words[0];
    switch ((enum wire_note)WIRE_DETAIL(words[0])) {
    case WIRE_NOTE_UNLOAD:
        if (tick <= t->tick)
            interval_log_not_marked(&t->timeline, tick - 1);
        *vec_push(&t->marks.unloads) = tick;
        return tick;
    case WIRE_NOTE_MARK:
        *vec_push(&t->marks.pending) = (struct pending_mark){.tick = tick,
                                                             .label = label_of(t, words),
                                                             .thread = thread,
                                                             .stamp = stamp_of(t, words)};
        interval_log_marked_at(&t->timeline, tick - 1, vec_last(&t->marks.pending)->stamp.time_ns);
        return tick;
    case WIRE_NOTE_VALUE: {
        struct mark_value value = {.mark = tick, .key = text_of(t, words)};
        memcpy(&value.value, &words[1], sizeof value.value);
        *vec_push(&t->marks.values) = value;
        return 0;
    }
    case WIRE_NOTE_POOL: {
        char name[WIRE_LABEL_SIZE + 1];
        copy_text(name, words);
        pools_name(t, words[0] & WIRE_LOW48, name);
        return 0;
    }
    case WIRE_NOTE_HELD:
        note_held(t, tick, words);
        return 0;
    case WIRE_NOTE_ARENAS:
        note_arenas(t, tick, words[1]);
        return 0;
    case WIRE_NOTE_PAUSED:
        t->was_paused = true;
        return 0;
    case WIRE_NOTE_TOUCHED:
        untouched_note(t, words[0] & WIRE_LOW48, words[1], words[2], words[3]);
        return 0;
    default:
        return 0;
    }
}

struct stamp *marks_add(struct target *t, const char *label, uint64_t now_ns)
{
    target_boundary_kept(t, now_ns);
    struct pending_mark mark = {.tick = t->tick};
    if (!t->marks.labels.strings.count)
        strpool_add(&t->marks.labels, "");
    mark.label = strpool_add(&t->marks.labels, label);
    *vec_push(&t->marks.pending) = mark;
    return &vec_last(&t->marks.pending)->stamp;
}

uint64_t marks_end(struct target *t, const struct boundary *b, bool *kept)
{
    *kept = b->programs || b->kept;
    for (size_t i = 0; i < t->marks.unloads.count; i++)
        if (t->marks.unloads.items[i] == b->tick + 1) {
            t->marks.unloads.items[i] = *vec_last(&t->marks.unloads);
            t->marks.unloads.count--;
            *kept = false;
            break;
        }
    for (size_t i = t->marks.pending.count;
         *kept && i-- > 0 && t->marks.pending.items[i].tick > b->tick;)
        if (t->marks.pending.items[i].tick == b->tick + 1)
            return t->marks.pending.items[i].stamp.time_ns;
    return b->time_ns;
}

static int by_tick(const void *a, const void *b)
{
    uint32_t x = ((const struct pending_mark *)a)->tick, y = ((const struct pending_mark *)b)->tick;
    return (x > y) - (x < y);
}

static uint32_t mark_with(const struct target *t, uint32_t tick)
{
    struct pending_mark key = {.tick = tick};
    const struct pending_mark *found =
        t->marks.pending.count
            ? bsearch(&key, t->marks.pending.items, t->marks.pending.count, sizeof key, by_tick)
            : NULL;
    return found ? (uint32_t)(found - t->marks.pending.items) : UINT32_MAX;
}

void marks_finish(struct target *t, struct strpool *strings)
{
    struct profile *p = &t->profile;
    if (t->marks.pending.count)
        qsort(t->marks.pending.items, t->marks.pending.count, sizeof *t->marks.pending.items,
              by_tick);
    for (size_t i = 0; i < t->marks.pending.count; i++) {
        const struct pending_mark *m = &t->marks.pending.items[i];
        struct mark *mark = vec_push(&p->marks);
        *mark =
            (struct mark){.label = strpool_add(strings, strpool_get(&t->marks.labels, m->label)),
                          .thread = m->thread < p->threads.count ? m->thread : 0,
                          .intervals = interval_log_find(&t->timeline, m->tick - 1),
                          .stamp = m->stamp,
                          .absent_bytes = m->absent_bytes,
                          .absent_known = m->absent_known};
        if (mark->intervals) {
            const struct slice *before = &t->timeline.slices.items[mark->intervals - 1];
            mark->stamp.live_bytes = before->live_bytes;
            mark->stamp.live_blocks = before->live_blocks;
            mark->stamp.allocations = before->allocations;
        }
    }
    for (size_t i = 0; i < t->marks.values.count; i++) {
        struct mark_value v = t->marks.values.items[i];
        v.mark = mark_with(t, v.mark);
        v.key = strpool_add(strings, strpool_get(&t->marks.labels, v.key));
        if (v.mark != UINT32_MAX)
            *vec_push(&p->mark_values) = v;
    }
}

void marks_release(struct marks *m)
{
    vec_release(&m->pending);
    vec_release(&m->values);
    vec_release(&m->unloads);
    strpool_release(&m->labels);
}
