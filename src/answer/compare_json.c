/* One run against several at once as data. */
#include <math.h>
#include <sys/wait.h>

#include "answer/compare.h"
#include "answer/json_parts.h"

static void run_json(struct json *j, const char *key, const struct compare_run *r,
                     const int *status)
{
    json_object(j, key);
    if (status) {
        json_u64(j, "pid", r->pid);
        if (WIFEXITED(*status))
            json_i64(j, "exit_code", WEXITSTATUS(*status));
        else
            json_null(j, "exit_code");
        if (WIFSIGNALED(*status))
            json_i64(j, "signal", WTERMSIG(*status));
        else
            json_null(j, "signal");
        json_u64(j, "duration_ns", r->duration_ns);
    }
    json_u64(j, "units", r->units);
    json_u64(j, "processes", r->processes);
    json_u64(j, "cpu_ns", r->cpu_ns);
    json_u64(j, "faults", r->faults);
    json_u64(j, "fault_bytes", r->fault_bytes);
    if (key)
        json_u64(j, "lost_samples", r->lost);
    json_object(j, "kernel");
    json_u64(j, "user_ns", r->kernel.user_ns);
    json_u64(j, "system_ns", r->kernel.system_ns);
    json_u64(j, "minor_faults", r->kernel.minor_faults);
    json_u64(j, "major_faults", r->kernel.major_faults);
    json_end(j);
    json_end(j);
}

static void values_json(struct json *j, const struct compared v[COMPARE_MEASURES])
{
    static const char *const names[] = {[COMPARE_CPU_NS] = "cpu_ns",
                                        [COMPARE_SAMPLES] = "samples",
                                        [COMPARE_FAULTS] = "faults",
                                        [COMPARE_FAULT_BYTES] = "fault_bytes"};
    for (int m = 0; m < COMPARE_MEASURES; m++) {
        json_object(j, names[m]);
        json_double(j, "alone", v[m].alone);
        json_double(j, "together", v[m].together);
        json_double(j, "low", v[m].low);
        json_double(j, "high", v[m].high);
        json_double(j, "change", compared_change(v[m]));
        if (v[m].alone > 0)
            json_double(j, "ratio", v[m].together / v[m].alone);
        else
            json_null(j, "ratio");
        json_double(j, "ratio_low", v[m].ratio_low);
        if (isfinite(v[m].ratio_high))
            json_double(j, "ratio_high", v[m].ratio_high);
        else
            json_null(j, "ratio_high");
        json_bool(j, "certain", compared_is_certain(v[m]));
        json_end(j);
    }
}

static void row_json(struct json *j, const struct compare *c, const struct compare_row *r)
{
    json_object(j, NULL);
    json_string(j, "name", r->name);
    json_string(j, "module", r->module);
    json_string(j, "file", r->file);
    if (r->line)
        json_u64(j, "line", r->line);
    else
        json_null(j, "line");
    json_object(j, "self");
    values_json(j, r->self);
    json_end(j);
    json_object(j, "total");
    values_json(j, r->total);
    json_end(j);
    if (c->query->by == BY_STACK) {
        const struct answer *a = &c->answers.items[r->answer]->answer;
        struct json_stacks stacks = {.frames = &a->frames};
        json_string(j, "thread", r->thread);
        json_stack(j, &stacks, &a->merged, r->call);
        json_stacks_release(&stacks);
    }
    json_end(j);
}

void compare_json(const struct compare *c, const struct compare_frame *f,
                  const struct report_sink *sink, struct strbuf *out)
{
    struct compare_run all = compare_copies(c);
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.compare/1");
    json_array(&j, "command");
    for (char *const *a = f->command; *a; a++)
        json_string(&j, NULL, *a);
    json_end(&j);
    json_u64(&j, "copies", c->copies);
    json_string(&j, "per", c->per ? c->per : "run");
    json_string(&j, "metric", metric_name(c->query->metric));
    json_string(&j, "by", grouping_name(c->query->by));
    json_string(&j, "alone_file", f->files ? f->files[0] : NULL);
    json_string(&j, "together_file", f->files ? f->files[1] : NULL);
    run_json(&j, "alone", &c->runs.items[0], &f->wait_statuses[0]);
    run_json(&j, "together", &all, NULL);
    json_array(&j, "runs");
    for (size_t i = 1; i <= c->copies; i++)
        run_json(&j, NULL, &c->runs.items[i], &f->wait_statuses[i]);
    json_end(&j);
    json_u64(&j, "rows_left_out", c->left_out);
    json_array(&j, "rows");
    for (size_t i = 0; i < c->rows.count; i++) {
        row_json(&j, c, &c->rows.items[i]);
        report_flush(sink, out);
    }
    json_end(&j);
    json_end(&j);
}
