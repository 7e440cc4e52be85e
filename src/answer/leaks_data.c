#include "answer/leaks.h"

#include <inttypes.h>

#include "answer/csv.h"
#include "answer/json_parts.h"

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_totals_of(struct json *j, const struct leaks *l)
{
    const struct leak_sum *s = l->sums;
    json_object(j, "totals");
    json_u64(j, "bytes", l->all.bytes);
    json_u64(j, "blocks", l->all.blocks);
    json_u64(j, "unique", l->all.places);
    json_u64(j, "lost_bytes", s[REACH_LOST].bytes);
    json_u64(j, "lost_blocks", s[REACH_LOST].blocks);
    json_u64(j, "indirect_bytes", s[REACH_INDIRECT].bytes);
    json_u64(j, "indirect_blocks", s[REACH_INDIRECT].blocks);
    json_u64(j, "reachable_bytes", s[REACH_REACHABLE].bytes);
    json_u64(j, "reachable_blocks", s[REACH_REACHABLE].blocks);
    json_u64(j, "unclassified_bytes", s[REACH_UNKNOWN].bytes);
    json_u64(j, "unclassified_blocks", s[REACH_UNKNOWN].blocks);
    json_u64(j, "freed_at_exit_bytes", l->freed.bytes);
    json_u64(j, "freed_at_exit_blocks", l->freed.blocks);
    json_i64(j, "ignored_bytes", l->left_out.ignored.amount);
    json_i64(j, "ignored_blocks", l->left_out.ignored.count);
    json_i64(j, "outside_bytes", l->left_out.outside.amount);
    json_i64(j, "outside_blocks", l->left_out.outside.count);
    json_u64(j, "may_match_bytes", l->may_match.bytes);
    json_u64(j, "may_match_blocks", l->may_match.blocks);
    json_end(j);
}

static void json_list(struct json *j, const char *key, const struct leaks *l,
                      const struct leak_list *list, const struct report_sink *sink)
{
    struct json_stacks stacks = {.frames = &l->frames};
    bool freed = list == &l->freed_list;
    json_array(j, key);
    for (size_t i = 0; i < list->leaks.count; i++) {
        const struct leak *e = &list->leaks.items[i];
        json_object(j, NULL);
        if (!freed)
            json_string(j, "kind", leak_kind_name(e->kind));
        json_u64(j, "bytes", e->bytes);
        json_u64(j, "count", e->blocks);
        json_u64(j, "usable_bytes", e->usable);
        if (l->scan->led && e->kind == REACH_LOST && !freed) {
            json_u64(j, "indirect_bytes", e->led_bytes);
            json_u64(j, "indirect_count", e->led_blocks);
        }
        if (l->scan->residency && !freed)
            json_u64(j, "untouched_bytes", e->untouched);
        else
            json_null(j, "untouched_bytes");
        json_u64(j, "first_ns", e->first_ns);
        json_u64(j, "last_ns", e->last_ns);
        json_bool(j, "grew", leak_grew(e));
        json_string(j, "thread", e->thread);
        json_u64(j, "threads", e->threads);
        json_stack(j, &stacks, e->tree, e->node);
        json_end(j);
        report_flush(sink, j->out);
    }
    json_end(j);
    json_stacks_release(&stacks);
}

static void json_others(struct json *j, const struct leaks *l)
{
    struct leak_others o = leaks_of_others(l);
    json_object(j, "others");
    json_u64(j, "processes", o.processes);
    json_u64(j, "lost_bytes", o.bytes);
    json_u64(j, "lost_blocks", o.blocks);
    json_end(j);
}

void leaks_json(const struct leaks *l, const struct report_sink *sink, struct strbuf *out)
{
    struct json j;
    struct strbuf at = {0};
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.leaks/1");
    json_program(&j, l->recording, l->profile);
    leak_scan_name(l->profile, l->scan, &at);
    json_string(&j, "at", at.data);
    json_u64(&j, "at_ns", l->scan->time_ns);
    json_string(&j, "since", l->since.word);
    json_u64(&j, "since_ns", l->since.time_ns);
    json_u64(&j, "older_ns", l->question->older_ns);
    json_u64(&j, "held_ns", l->scan->held_ns);
    json_string(&j, "unclassified_because", l->scan->unreachable);
    json_totals_of(&j, l);
    json_others(&j, l);
    json_ignored(&j, &l->left_out);
    json_processes(&j, l->recording, l->profile);
    json_u64(&j, "leaks_left_out", l->list.left_out.places);
    json_list(&j, "leaks", l, &l->list, sink);
    if (l->question->freed)
        json_list(&j, "freed_at_exit", l, &l->freed_list, sink);
    json_end(&j);
    strbuf_release(&at);
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void csv_list(const struct leaks *l, const struct leak_list *list, const char *kind,
                     const struct report_sink *sink, struct strbuf *out)
{
    struct strbuf stack = {0};
    for (size_t i = 0; i < list->leaks.count; i++) {
        const struct leak *e = &list->leaks.items[i];
        strbuf_clear(&stack);
        for (uint32_t n = e->node; n; n = e->tree->parent.items[n]) {
            const struct call_frame *f = &l->frames.frames.items[e->tree->key.items[n]];
            strbuf_printf(&stack, "%s%s", stack.size ? ";" : "",
                          frame_table_string(&l->frames, f->name));
        }
        strbuf_printf(out, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
                      kind ? kind : leak_kind_name(e->kind), e->bytes, e->blocks, e->usable);
        if (l->scan->residency && !kind)
            strbuf_printf(out, "%" PRIu64, e->untouched);
        strbuf_printf(out, ",%" PRIu64 ",%" PRIu64 ",", e->first_ns, e->last_ns);
        csv_text(out, e->thread);
        strbuf_printf(out, ",%" PRIu32 ",", e->threads);
        csv_text(out, stack.data);
        strbuf_putc(out, '\n');
        report_flush(sink, out);
    }
    strbuf_release(&stack);
}

void leaks_csv(const struct leaks *l, const struct report_sink *sink, struct strbuf *out)
{
    strbuf_puts(out,
                "kind,bytes,count,usable_bytes,untouched_bytes,first_ns,last_ns,thread,threads,"
                "stack\n");
    csv_list(l, &l->list, NULL, sink, out);
    csv_list(l, &l->freed_list, "freed at exit", sink, out);
}
