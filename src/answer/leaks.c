/* What was never freed as data: JSON and CSV. */
#include "answer/leaks.h"

#include "model/arenas_at.h"
#include "answer/columns.h"
#include "answer/json_parts.h"
#include "answer/stack_text.h"

/* --- columns ---------------------------------------------------------------------------------- */

/* One of the two lists. */
struct listed {
    const struct leaks *leaks;
    const struct leak_list *list;
    struct json_stacks *stacks;
};

#define NOT_FREED 1u

static bool is_freed(const void *answer)
{
    const struct listed *l = answer;
    return l->list == &l->leaks->freed_list;
}

static struct cell get_kind(struct spot s)
{
    const struct leak *e = s.row;
    return CELL_OF(is_freed(s.answer) ? "freed at exit" : leak_kind_name(e->kind));
}

static struct cell get_led(struct spot s)
{
    const struct leak *e = s.row;
    const struct listed *l = s.answer;
    bool known = l->leaks->scan->led && e->kind == REACH_LOST && !is_freed(l);
    return known ? CELL_OF(s.column->number ? e->led_blocks : e->led_bytes) : CELL_NOT_KNOWN;
}

static struct cell get_untouched(struct spot s)
{
    const struct listed *l = s.answer;
    return l->leaks->scan->residency && !is_freed(l)
               ? CELL_OF(((const struct leak *)s.row)->untouched)
               : CELL_NOT_KNOWN;
}

static struct cell get_grew(struct spot s)
{
    bool known = !((const struct listed *)s.answer)->leaks->profile->merge;
    return known ? CELL_OF(leak_grew(s.row)) : CELL_NOT_KNOWN;
}

static struct cell get_stack(struct spot s)
{
    const struct leak *e = s.row;
    stack_names(&((const struct listed *)s.answer)->leaks->frames, e->tree->parent.items,
                e->tree->key.items, e->node, s.made);
    return CELL_OF(s.made->data);
}

static void put_stack(struct spot s, const char *key, struct json *j)
{
    const struct leak *e = s.row;
    (void)key;
    json_stack(j, ((const struct listed *)s.answer)->stacks, e->tree, e->node);
}

/* For imported blocks it is not known when they were allocated nor, mostly, by which thread; a
 * merge does not keep the time. */
enum { LEAK_USABLE, LEAK_FIRST, LEAK_LAST, LEAK_THREADS };

static struct cell get_if_known(struct spot s)
{
    const struct leak *e = s.row;
    const struct profile *p = ((const struct listed *)s.answer)->leaks->profile;
    switch (s.column->number) {
    case LEAK_USABLE:
        return profile_lacks(p, UNKNOWN_USABLE) ? CELL_NOT_KNOWN : CELL_OF(e->usable);
    case LEAK_FIRST:
        return p->imported.from || p->merge ? CELL_NOT_KNOWN : CELL_OF(e->first_ns);
    case LEAK_LAST:
        return p->imported.from || p->merge ? CELL_NOT_KNOWN : CELL_OF(e->last_ns);
    default:
        return profile_lacks(p, UNKNOWN_THREADS) ? CELL_NOT_KNOWN : CELL_OF(e->threads);
    }
}

static struct cell get_thread(struct spot s)
{
    const struct leak *e = s.row;
    const struct profile *p = ((const struct listed *)s.answer)->leaks->profile;
    return profile_lacks(p, UNKNOWN_THREADS) ? CELL_NOT_KNOWN : CELL_OF(e->thread);
}

#define LEAK(member) FIELD(struct leak, member)

static const struct column_def columns[] = {
    {"kind", NULL, COLUMN_WORD, .get = get_kind, .json_if = NOT_FREED},
    {"bytes", NULL, COLUMN_BYTES, LEAK(bytes)},
    {"count", NULL, COLUMN_COUNT, LEAK(blocks)},
    {"usable_bytes", NULL, COLUMN_BYTES, .get = get_if_known, .number = LEAK_USABLE},
    {"indirect_bytes", NULL, COLUMN_BYTES, .get = get_led, .optional = true,
     .csv_if = COLUMN_NEVER},
    {"indirect_count", NULL, COLUMN_COUNT, .get = get_led, .optional = true, .number = 1,
     .csv_if = COLUMN_NEVER},
    {"untouched_bytes", NULL, COLUMN_BYTES, .get = get_untouched},
    {"first_ns", NULL, COLUMN_TIME, .get = get_if_known, .number = LEAK_FIRST},
    {"last_ns", NULL, COLUMN_TIME, .get = get_if_known, .number = LEAK_LAST},
    {"grew", NULL, COLUMN_WORD, .get = get_grew, .csv_if = COLUMN_NEVER},
    {"thread", NULL, COLUMN_TITLE, .get = get_thread},
    {"threads", NULL, COLUMN_COUNT, .get = get_if_known, .number = LEAK_THREADS},
    /* In CSV these come after the older columns, and the stack last: scripts may count columns. */
    {"indirect_bytes", NULL, COLUMN_BYTES, .get = get_led, .json_if = COLUMN_NEVER},
    {"indirect_count", NULL, COLUMN_COUNT, .get = get_led, .number = 1, .json_if = COLUMN_NEVER},
    {"grew", NULL, COLUMN_WORD, .get = get_grew, .json_if = COLUMN_NEVER},
    {"stack", NULL, COLUMN_WORDS, .get = get_stack, .json = put_stack},
};

static struct rows rows_of(const struct listed *l)
{
    return (struct rows){COLUMN_DEFS(columns), ITEMS(l->list->leaks), .answer = l,
                         .is = is_freed(l) ? 0 : NOT_FREED, .continued = is_freed(l)};
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

static void json_totals_of(struct json *j, const struct leaks *l)
{
    const struct leak_sum *s = l->sums;
    bool scanned = !l->profile->imported.from; /* it is known what points to blocks */
    json_object(j, "totals");
    json_u64(j, "bytes", l->all.bytes);
    json_u64(j, "blocks", l->all.blocks);
    json_u64(j, "unique", l->all.places);
    json_u64_if(j, "lost_bytes", scanned, s[REACH_LOST].bytes);
    json_u64_if(j, "lost_blocks", scanned, s[REACH_LOST].blocks);
    json_u64_if(j, "indirect_bytes", scanned, s[REACH_INDIRECT].bytes);
    json_u64_if(j, "indirect_blocks", scanned, s[REACH_INDIRECT].blocks);
    json_u64_if(j, "reachable_bytes", scanned, s[REACH_REACHABLE].bytes);
    json_u64_if(j, "reachable_blocks", scanned, s[REACH_REACHABLE].blocks);
    json_u64(j, "unclassified_bytes", s[REACH_UNKNOWN].bytes);
    json_u64(j, "unclassified_blocks", s[REACH_UNKNOWN].blocks);
    json_u64_if(j, "freed_at_exit_bytes", scanned, l->freed.bytes);
    json_u64_if(j, "freed_at_exit_blocks", scanned, l->freed.blocks);
    json_i64(j, "ignored_bytes", l->left_out.ignored.amount);
    json_i64(j, "ignored_blocks", l->left_out.ignored.count);
    json_i64(j, "outside_bytes", l->left_out.outside.amount);
    json_i64(j, "outside_blocks", l->left_out.outside.count);
    json_u64(j, "may_match_bytes", l->may_match.bytes);
    json_u64(j, "may_match_blocks", l->may_match.blocks);
    json_end(j);
}

struct value leaks_arenas(const struct leaks *l)
{
    const struct moment at = {.intervals = l->scan->intervals};
    return arenas_live(l->profile, &at);
}

static void json_python(struct json *j, const struct leaks *l)
{
    if (!l->profile->python_version)
        return;
    struct value arenas = leaks_arenas(l);
    json_object(j, "python");
    json_i64(j, "arena_live_bytes", arenas.amount);
    json_i64(j, "arena_live_count", arenas.count);
    json_end(j);
}

void leak_others_json(struct json *j, struct leak_others o)
{
    json_object(j, "others");
    json_u64(j, "processes", o.processes);
    json_u64(j, "lost_bytes", o.bytes);
    json_u64(j, "lost_blocks", o.blocks);
    json_end(j);
}

static void json_list(struct json *j, const char *key, const struct listed *l,
                      const struct report_sink *sink)
{
    struct rows rows = rows_of(l);
    rows_json(&rows, key, sink, j);
}

void leaks_json(const struct leaks *l, const struct report_sink *sink, struct strbuf *out)
{
    struct json j;
    struct strbuf at = {0};
    struct json_stacks stacks = {.frames = &l->frames};
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.leaks/1");
    json_program(&j, l->recording, l->profile);
    leak_scan_name(l->profile, l->scan, &at);
    json_string(&j, "at", at.data);
    json_u64_if(&j, "at_ns", !profile_lacks(l->profile, UNKNOWN_TIME), l->scan->time_ns);
    json_string(&j, "since", l->since.word);
    json_u64(&j, "since_ns", l->since.time_ns);
    json_u64(&j, "older_ns", l->question->older_ns);
    json_u64(&j, "held_ns", l->scan->held_ns);
    json_string(&j, "unclassified_because", l->scan->unreachable);
    json_totals_of(&j, l);
    json_python(&j, l);
    json_attached(&j, l->profile);
    leak_others_json(&j, leaks_of_others(l, 0));
    json_ignored(&j, &l->left_out);
    json_processes(&j, l->recording, l->profile);
    json_u64(&j, "leaks_left_out", l->list.left_out.places);
    json_list(&j, "leaks", &(struct listed){l, &l->list, &stacks}, sink);
    if (l->question->freed)
        json_list(&j, "freed_at_exit", &(struct listed){l, &l->freed_list, &stacks}, sink);
    json_end(&j);
    strbuf_release(&at);
    json_stacks_release(&stacks);
}

void leaks_csv(const struct leaks *l, const struct report_sink *sink, struct strbuf *out)
{
    struct rows left = rows_of(&(struct listed){l, &l->list, NULL}),
                freed = rows_of(&(struct listed){l, &l->freed_list, NULL});
    rows_csv(&left, sink, out);
    rows_csv(&freed, sink, out);
}
