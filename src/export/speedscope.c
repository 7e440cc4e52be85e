/*
 * speedscope: the JSON of speedscope.app, one profile for each metric.
 *
 * It holds stacks with files and lines. It loses counts, libraries, threads and times; of
 * differences it loses what shrank, because weights are not negative.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "export/export.h"

static void put_frames(struct json *j, const struct stack_table *t)
{
    json_object(j, "shared");
    json_array(j, "frames");
    for (uint32_t i = 0; i < t->frames.frames.count; i++) {
        struct stack_frame f = stack_frame_of(&t->frames, i);
        json_object(j, NULL);
        json_string(j, "name", f.name);
        if (*f.file)
            json_string(j, "file", f.file);
        if (f.line)
            json_u64(j, "line", f.line);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

/* Writes the numbers of frames, outermost first. */
static void put_stack(struct json *j, const struct merged *m, uint32_t node)
{
    VEC(uint32_t) frames = {0};
    for (uint32_t n = node; n; n = m->parent.items[n])
        *vec_push(&frames) = m->key.items[n];
    json_array(j, NULL);
    while (frames.count)
        json_u64(j, NULL, frames.items[--frames.count]);
    json_end(j);
    vec_release(&frames);
}

static void put_profile(struct export *e, struct json *j, const struct stack_table *t,
                        size_t column)
{
    enum metric metric = t->columns[column].metric;
    struct value *own = stack_table_own(t, column);
    size_t nodes = t->merged.parent.count;
    uint64_t sum = 0;
    json_object(j, NULL);
    json_string(j, "type", "sampled");
    json_string(j, "name", report_metric_title(metric));
    json_string(j, "unit",
                metric_is_time(metric)     ? "nanoseconds"
                : metric == METRIC_SAMPLES ? "none"
                                           : "bytes");
    json_array(j, "samples");
    for (uint32_t n = 1; n < nodes; n++)
        if (own[n].amount > 0) {
            put_stack(j, &t->merged, n);
            report_flush(e->sink, e->out);
        }
    json_end(j);
    json_array(j, "weights");
    for (uint32_t n = 1; n < nodes; n++) {
        if (own[n].amount <= 0)
            continue;
        json_i64(j, NULL, own[n].amount);
        sum += (uint64_t)own[n].amount;
    }
    json_end(j);
    json_u64(j, "startValue", 0);
    json_u64(j, "endValue", sum);
    json_end(j);
    export_note_shrunk(e, "speedscope", t, column, own);
    free(own);
}

int export_speedscope(struct export *e, struct err *err)
{
    struct stack_table table;
    struct strbuf command = {0};
    struct json j;
    int code = export_stacks(e, &table, err);
    if (code)
        return code;
    profile_command(table.profile, &command);
    json_init(&j, e->out);
    json_object(&j, NULL);
    json_string(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_string(&j, "exporter", "tidemark " TIDEMARK_VERSION);
    json_string(&j, "name", command.data);
    json_u64(&j, "activeProfileIndex", 0);
    put_frames(&j, &table);
    json_array(&j, "profiles");
    for (size_t i = 0; i < table.column_count; i++)
        put_profile(e, &j, &table, i);
    json_end(&j);
    json_end(&j);
    strbuf_putc(e->out, '\n');
    strbuf_release(&command);
    stack_table_release(&table);
    return 0;
}
