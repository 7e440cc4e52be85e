#include "analyse/annotate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/annotate_parts.h"

#define NOTES_MAX 12

void annotation_note(struct annotation *a, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    if (a->notes.count == NOTES_MAX)
        return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    *vec_push(&a->notes) = must_alloc(text);
}

/* Asks for all functions, so that error messages can name candidates. */
static void all_functions(struct query *q)
{
    q->by = BY_FUNCTION;
    q->shape = SHAPE_TABLE;
    q->histogram = HISTOGRAM_NONE;
    q->top = QUERY_ALL;
    q->min_percent = 0;
}

/* --- the order of output ---------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Inlined places come after all of the function's own. */
static int compare_places(const void *x, const void *y, void *context)
{
    const struct annotation *a = context;
    const struct annotated_place *p = &a->places.items[*(const uint32_t *)x],
                                 *q = &a->places.items[*(const uint32_t *)y];
    int order = compare_numbers(p->parent + UINT32_C(1), q->parent + UINT32_C(1));
    if (!order && p->parent == PLACE_NONE) {
        order = compare_numbers(p->source, q->source);
        order = order ? order : compare_numbers(p->line, q->line);
    } else if (!order) {
        order = compare_numbers(amount_size(q->total.amount), amount_size(p->total.amount));
    }
    return order ? order : compare_numbers((uintptr_t)p, (uintptr_t)q);
}

/* The numbers from 0 on, sorted; the caller frees them. */
static uint32_t *ordered(size_t count, int (*compare)(const void *, const void *, void *),
                         struct annotation *a)
{
    uint32_t *order = xmalloc((count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, compare, a);
    return order;
}

static void order_places(struct annotation *a)
{
    size_t count = a->places.count;
    a->place_order = ordered(count, compare_places, a);
    for (size_t i = 0; i < count; i++) {
        const struct annotated_place *p = &a->places.items[a->place_order[i]];
        bool own = p->parent == PLACE_NONE;
        size_t *first = own ? &a->sources.items[p->source].first_place
                            : &a->places.items[p->parent].first_inlined;
        size_t *number = own ? &a->sources.items[p->source].place_count
                             : &a->places.items[p->parent].inlined_count;
        if (!(*number)++)
            *first = i;
    }
}

static int compare_code(const void *x, const void *y, void *context)
{
    const struct annotation *a = context;
    uint32_t m = *(const uint32_t *)x, n = *(const uint32_t *)y;
    int order = compare_numbers(a->instructions.items[m].place + UINT32_C(1),
                                a->instructions.items[n].place + UINT32_C(1));
    return order ? order : compare_numbers(m, n);
}

static void order_code(struct annotation *a)
{
    size_t count = a->instructions.count;
    a->code_order = ordered(count, compare_code, a);
    for (size_t i = 0; i < count; i++) {
        uint32_t place = a->instructions.items[a->code_order[i]].place;
        if (place == PLACE_NONE)
            a->unplaced++;
        else if (!a->places.items[place].code_count++)
            a->places.items[place].first_code = i;
    }
}

int annotate(struct annotation *a, const struct recording *r, const struct annotate_question *q,
             struct err *err)
{
    *a = (struct annotation){.question = q, .query = q->query};
    all_functions(&a->query);
    int code = answer_query(&a->answer, r, &a->query, err);
    if (code)
        return code;
    struct group g;
    uint32_t group = 0;
    code = annotate_choose(&a->answer, q->function, q->library, &group, err);
    if (code) {
        answer_release(&a->answer);
        return code;
    }
    group_init(&g, &a->answer.frames, &a->answer.tree, BY_FUNCTION);
    struct group_label label = group_label(&g, group);
    a->name = label.name;
    a->module = label.module;
    a->python = a->answer.frames.frames.items[g.best[group]].kind == FRAME_PYTHON;
    a->symbolizer = symbolizer_new();
    strpool_add(&a->strings, "");
    annotate_values(a, &g, group);
    group_release(&g);
    if (!a->python)
        annotate_code(a);
    else if (q->code)
        annotation_note(a, "no instructions: a Python function has none of its own");
    annotate_sources(a);
    order_places(a);
    order_code(a);
    return 0;
}

void annotation_release(struct annotation *a)
{
    for (size_t i = 0; i < a->notes.count; i++)
        free(a->notes.items[i]);
    for (size_t i = 0; i < a->instructions.count; i++)
        free(a->instructions.items[i].text);
    for (size_t i = 0; i < a->sources.count; i++)
        source_release(&a->sources.items[i].text);
    free(a->place_order);
    free(a->code_order);
    vec_release(&a->notes);
    vec_release(&a->instructions);
    vec_release(&a->sources);
    vec_release(&a->places);
    vec_release(&a->codes);
    vec_release(&a->hosts);
    vec_release(&a->touched);
    map_release(&a->place_index);
    map_release(&a->touched_index);
    strpool_release(&a->strings);
    symbolizer_free(a->symbolizer);
    answer_release(&a->answer);
    *a = (struct annotation){0};
}

const char *annotation_text(const struct annotation *a, uint32_t source, uint32_t line,
                            size_t *size)
{
    return source_line_text(&a->sources.items[source].text, line, size);
}
