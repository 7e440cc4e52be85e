#include "model/mark_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/say.h"

#define LABELS_NAMED 8

struct placed {
    struct mark_value value;
    size_t place; /* position in the file */
};

static int by_mark(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->value.mark != y->value.mark)
        return x->value.mark < y->value.mark ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* In the file, values are in the order in which they were read, with threads mixed. */
static struct mark_value *sorted_values(const struct profile *p)
{
    size_t count = p->mark_values.count;
    struct mark_value *sorted = xcalloc(count + 1, sizeof *sorted);
    struct placed *order = xcalloc(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct placed){.value = p->mark_values.items[i], .place = i};
    qsort(order, count, sizeof *order, by_mark);
    for (size_t i = 0; i < count; i++)
        sorted[i] = order[i].value;
    free(order);
    return sorted;
}

static void add_stamps(struct mark_rows *m, size_t *next, uint64_t before_ns)
{
    const struct profile *p = m->profile;
    for (; *next < p->stamps.count && p->stamps.items[*next].time_ns < before_ns; ++*next)
        *vec_push(&m->rows) = (struct mark_row){.label = "", .stamp = &p->stamps.items[*next]};
}

int mark_rows_init(struct mark_rows *m, const struct recording *r, const struct profile *p,
                   const char *label, bool stamps, struct err *err)
{
    struct map seen = {0}; /* label -> number of its marks so far */
    size_t stamp = 0, value = 0;
    *m = (struct mark_rows){.recording = r, .profile = p, .values = sorted_values(p)};
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct mark *mark = &p->marks.items[i];
        struct mark_row row = {.label = mark->name, .stamp = &mark->stamp, .first = value};
        uint32_t *count = map_at(&seen, mark->label);
        *count = *count == MAP_NONE ? 1 : *count + 1;
        row.index = *count;
        while (value < p->mark_values.count && m->values[value].mark == i)
            value++;
        row.count = value - row.first;
        if (label && !mark_has_label(mark->name, label, strlen(label)))
            continue;
        if (stamps)
            add_stamps(m, &stamp, mark->stamp.time_ns);
        *vec_push(&m->rows) = row;
        m->marks++;
    }
    if (stamps)
        add_stamps(m, &stamp, UINT64_MAX);
    map_release(&seen);
    if (!label || m->marks)
        return 0;
    struct strbuf labels = {0};
    mark_labels(p, &labels);
    err_set(err, -ENOENT, "no mark is called '%s'; %s%s", label,
            labels.size ? "there are " : "this process made none", labels.size ? labels.data : "");
    strbuf_release(&labels);
    mark_rows_release(m);
    return -ENOENT;
}

void mark_rows_release(struct mark_rows *m)
{
    vec_release(&m->rows);
    free(m->values);
    m->values = NULL;
}

bool mark_has_label(const char *name, const char *label, size_t size)
{
    size_t own = strlen(name);
    bool cut = size > MARK_NAME_MOST && own <= MARK_NAME_MOST && own + 4 > MARK_NAME_MOST;
    return (cut || own == size) && memcmp(name, label, own) == 0;
}

void mark_labels(const struct profile *p, struct strbuf *out)
{
    struct map counts = {0}; /* label -> number of its marks; 0: already listed */
    size_t named = 0;
    for (size_t i = 0; i < p->marks.count; i++) {
        uint32_t *count = map_at(&counts, p->marks.items[i].label);
        *count = *count == MAP_NONE ? 1 : *count + 1;
    }
    for (size_t i = 0; i < p->marks.count && named < LABELS_NAMED; i++) {
        uint32_t *count = map_at(&counts, p->marks.items[i].label);
        if (!*count)
            continue;
        say(out, "%r%s#1", named++ ? ", " : "", p->marks.items[i].name);
        if (*count > 1)
            strbuf_printf(out, " to #%" PRIu32, *count);
        *count = 0;
    }
    if (counts.count > named)
        strbuf_printf(out, " and %zu more", counts.count - named);
    map_release(&counts);
}
