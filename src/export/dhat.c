/*
 * DHAT: the JSON of valgrind's heap profiler, version 2, which dh_view.html and the Firefox
 * Profiler open.
 *
 * A program point is a stack: all that it allocated, the most that it had, what it had at the
 * process's peak and at the end. It loses threads, marks and accesses. Lifetimes are not recorded
 * block by block: "tl", the sum of all lifetimes, is computed from what was live at the ends of
 * intervals. So blocks that were freed in the interval in which they were allocated add nothing.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/path.h"
#include "export/export.h"

enum { TOTAL, OWN_PEAK, AT_PEAK, AT_END, COLUMNS_USED };

/* The sum of the lifetimes of each merged node's blocks, in microseconds. */
static uint64_t *lifetimes_of(const struct stack_table *t)
{
    const struct profile *p = t->profile;
    double *live_us = xcalloc(t->merged.parent.count, sizeof *live_us);
    double *since =
        xcalloc(p->sites.count + 1, sizeof *since); /* us: when `blocks` was last counted */
    uint64_t *blocks = xcalloc(p->sites.count + 1, sizeof *blocks);
    uint32_t *node = xcalloc(p->sites.count + 1, sizeof *node); /* 0: not exported */
    uint64_t *sums = xcalloc(t->merged.parent.count, sizeof *sums);
    for (size_t i = 0; i < t->rows.count; i++)
        node[t->rows.items[i].site] = t->rows.items[i].node;
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *iv = &p->intervals.items[i];
        double now = (double)iv->end_ns / 1000;
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            uint32_t s = row->site;
            live_us[node[s]] += (double)blocks[s] * (now - since[s]);
            blocks[s] += row->columns[COL_ALLOCS] - row->columns[COL_FREES];
            since[s] = now;
        }
    }
    double end = (double)p->duration_ns / 1000;
    for (size_t s = 0; s < p->sites.count; s++)
        if (end > since[s])
            live_us[node[s]] += (double)blocks[s] * (end - since[s]);
    for (size_t n = 0; n < t->merged.parent.count; n++)
        sums[n] = live_us[n] > 0 && live_us[n] < 1e15 ? (uint64_t)live_us[n] : 0;
    free(live_us);
    free(since);
    free(blocks);
    free(node);
    return sums;
}

static uint64_t unsigned_of(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static void put_points(struct export *e, struct json *j, const struct stack_table *t)
{
    static const char *const keys[COLUMNS_USED][2] = {[TOTAL] = {"tb", "tbk"},
                                                      [OWN_PEAK] = {"mb", "mbk"},
                                                      [AT_PEAK] = {"gb", "gbk"},
                                                      [AT_END] = {"eb", "ebk"}};
    struct value *own[COLUMNS_USED];
    uint64_t *lifetimes = lifetimes_of(t);
    for (size_t i = 0; i < COLUMNS_USED; i++)
        own[i] = stack_table_own(t, i);
    json_array(j, "pps");
    for (uint32_t n = 1; n < t->merged.parent.count; n++) {
        if (value_is_zero(own[TOTAL][n]))
            continue;
        json_object(j, NULL);
        for (size_t i = 0; i < COLUMNS_USED; i++) {
            json_u64(j, keys[i][0], unsigned_of(own[i][n].amount));
            json_u64(j, keys[i][1], unsigned_of(own[i][n].count));
        }
        json_u64(j, "tl", lifetimes[n]);
        json_array(j, "fs");
        for (uint32_t m = n; m; m = t->merged.parent.items[m])
            json_u64(j, NULL, t->merged.key.items[m] + 1);
        json_end(j);
        json_end(j);
        report_flush(e->sink, e->out);
    }
    json_end(j);
    for (size_t i = 0; i < COLUMNS_USED; i++)
        free(own[i]);
    free(lifetimes);
}

static void put_frames(struct export *e, struct json *j, const struct stack_table *t)
{
    uint64_t *addresses = stack_table_addresses(t);
    struct strbuf text = {0};
    json_array(j, "ftbl");
    json_string(j, NULL, "[root]");
    for (uint32_t i = 0; i < t->frames.frames.count; i++) {
        struct stack_frame f = stack_frame_of(&t->frames, i);
        strbuf_clear(&text);
        strbuf_printf(&text, "0x%" PRIX64 ": %s", addresses[i], f.name);
        if (*f.file && f.line)
            strbuf_printf(&text, " (%s:%" PRIu32 ")", path_base(f.file), f.line);
        else if (*f.module)
            strbuf_printf(&text, " (in %s)", f.module);
        json_string(j, NULL, text.data);
        report_flush(e->sink, e->out);
    }
    json_end(j);
    strbuf_release(&text);
    free(addresses);
}

int export_dhat(struct export *e, struct err *err)
{
    const struct stack_column columns[COLUMNS_USED] = {
        [TOTAL] = {METRIC_TOTAL, SIZE_REQUESTED},
        [OWN_PEAK] = {METRIC_SITEPEAK, SIZE_REQUESTED},
        [AT_PEAK] = {METRIC_PEAK, SIZE_REQUESTED},
        [AT_END] = {METRIC_LIVE, SIZE_REQUESTED}};
    struct stack_table table;
    struct strbuf command = {0};
    struct json j;
    int code = stack_table_init(&table, e->recording, e->query, columns, COLUMNS_USED, err);
    if (code)
        return code;
    const struct profile *p = table.profile;
    profile_command(p, &command);
    json_init(&j, e->out);
    json_object(&j, NULL);
    json_u64(&j, "dhatFileVersion", 2);
    json_string(&j, "mode", "heap");
    json_string(&j, "verb", "Allocated");
    json_bool(&j, "bklt", true);
    json_bool(&j, "bkacc", false);
    json_string(&j, "tu", "us");
    json_string(&j, "Mtu", "s");
    json_u64(&j, "tuth", 500);
    json_string(&j, "cmd", command.data);
    json_u64(&j, "pid", p->pid);
    json_u64(&j, "tg", p->peak_time_ns / 1000);
    json_u64(&j, "te", p->duration_ns / 1000);
    put_points(e, &j, &table);
    put_frames(e, &j, &table);
    json_end(&j);
    strbuf_putc(e->out, '\n');
    strbuf_release(&command);
    stack_table_release(&table);
    return 0;
}
