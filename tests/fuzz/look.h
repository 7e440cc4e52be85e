/*
 * look: goes through all of a recording that was opened, and asks it a question. For files that are
 * damaged: whatever opens must be safe to use.
 */
#ifndef TIDE_FUZZ_LOOK_H
#define TIDE_FUZZ_LOOK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "analyse/annotate.h"
#include "analyse/leaks.h"
#include "export/annotate_html.h"
#include "export/export.h"
#include "model/diff.h"
#include "model/answer.h"
#include "model/mappings.h"
#include "model/merge.h"
#include "store/merge.h"
#include "store/reader.h"
#include "store/writer.h"
#include "model/combined_profile.h"
#include "answer/annotate.h"
#include "answer/tree.h"
#include "answer/findings.h"
#include "answer/growth.h"
#include "answer/maps.h"
#include "answer/leaks.h"
#include "answer/merge.h"
#include "answer/peaks.h"
#include "answer/report.h"
#include "answer/threads.h"
#include "../consistent.h"

/* Says what does not hold, for the log of a fuzzer. */
#define look_must(holds) ((holds) ? (void)0 : look_fails(#holds, __LINE__))
static inline void look_fails(const char *what, int line)
{
    fprintf(stderr, "look.h:%d: %s\n", line, what);
    abort();
}

/* What src/model takes for granted. */
static inline void look_profile(const struct profile *p)
{
    size_t text = 0;
    look_must(profile_is_consistent(p));
    for (size_t i = 0; i < p->marks.count; i++) {
        look_must(p->marks.items[i].intervals <= p->intervals.count);
        text += strlen(p->marks.items[i].name);
    }
    for (size_t i = 0; i < p->mark_values.count; i++)
        look_must(p->mark_values.items[i].mark < p->marks.count);
    for (size_t i = 0; i < p->captures.count; i++)
        look_must(p->captures.items[i].first + p->captures.items[i].count <= p->mappings.count);
    for (size_t i = 0; i < p->footprints.count; i++)
        look_must(p->footprints.items[i].first_pin + p->footprints.items[i].pin_count <=
                  p->pins.count);
    for (size_t i = 0; i < p->pins.count; i++)
        look_must(p->pins.items[i].site < p->sites.count);
    for (size_t i = 0; i < p->mappings.count; i++) {
        const struct mapping *m = &p->mappings.items[i];
        look_must(m->first_node + m->node_count <= p->map_nodes.count);
        text += strlen(strpool_get(&p->map_names, m->name));
    }
    for (size_t i = 0; i < p->scans.count; i++)
        look_must(p->scans.items[i].first_row + p->scans.items[i].row_count <= p->live.count &&
                  p->scans.items[i].intervals <= p->intervals.count &&
                  p->scans.items[i].kind < SCAN_KINDS);
    for (size_t i = 0; i < p->live.count; i++)
        look_must(p->live.items[i].site < p->sites.count && p->live.items[i].reach < REACHES &&
                  p->live.items[i].interval < p->intervals.count);
    for (size_t i = 0; i < p->command.count; i++)
        text += strlen(p->command.items[i]);
    for (size_t i = 0; i < p->threads.count; i++)
        text += strlen(p->threads.items[i].name);
    for (size_t i = 0; i < p->modules.count; i++)
        text += strlen(p->modules.items[i].path) + p->modules.items[i].build_id_size;
    for (size_t i = 0; i < p->notes.count; i++)
        text += strlen(p->notes.items[i]);
    look_must(text < SIZE_MAX / 2);
}

static inline void look_whole(const struct recording *r)
{
    look_must(r->profiles.count > 0 && r->complete == !r->incomplete);
    for (size_t n = 0; n < r->profiles.count; n++)
        look_profile(&r->profiles.items[n]);
}

/* One question, another for each input, in all three forms. */
static inline void look_ask(const struct recording *r, uint64_t hash)
{
    static const char *const moments[] = {NULL, "start", "50%", "peak", "end", "1s"};
    struct query q;
    struct answer a;
    struct err err;
    query_init(&q);
    q.metric = (enum metric)(hash % METRICS);
    q.by = (enum grouping)(hash / 16 % GROUPINGS);
    q.size = (enum size_kind)(hash / 128 % SIZE_KINDS);
    q.shape = (enum shape)(hash / 512 % 4);
    q.at = moments[hash / 2048 % 6];
    q.since = moments[hash / 16384 % 6];
    q.function = "main";
    q.top = 10;
    q.process = r->combined ? COMBINED_PROFILE_WORD : NULL;
    if (hash / 131072 % 4 == 0) { /* which goes with few of the others */
        q = (struct query){.metric = METRIC_TOTAL, .by = q.by, .top = 10, .process = q.process};
        q.histogram = (enum histogram_kind)(1 + hash / 524288 % 2);
        q.histogram_rows = hash >> 21 & 1;
    }
    if (answer_query(&a, r, &q, &err) == 0) {
        struct strbuf out = {0};
        const struct style style = {0};
        report_text(&a, "x.tide", &style, &out);
        report_json(&a, NULL, &out);
        report_csv(&a, NULL, &out);
        strbuf_release(&out);
        answer_release(&a);
    }
    query_release(&q);
}

static inline void look_for_leaks(const struct recording *r, uint64_t hash)
{
    static const char *const moments[] = {NULL, "exit", "leaks#1", "1s"};
    struct leaks_question q = {.kinds = (unsigned)(hash % LEAKS_OF(REACHES)),
                               .by_size = hash / 16 % 2,
                               .freed = hash / 32 % 2,
                               .older_ns = hash / 64 % 2 ? hash : 0};
    struct leaks l;
    struct err err;
    query_init(&q.query);
    q.query.at = moments[hash / 128 % 4];
    q.query.since = hash / 512 % 2 ? "50%" : NULL;
    q.query.top = 10;
    q.query.process = r->combined ? COMBINED_PROFILE_WORD : NULL;
    if (leaks_find(&l, r, &q, &err) == 0) {
        struct strbuf out = {0};
        const struct style style = {0};
        leaks_text(&l, "x.tide", &style, &out);
        leaks_json(&l, NULL, &out);
        leaks_csv(&l, NULL, &out);
        strbuf_release(&out);
        leaks_release(&l);
    }
    query_release(&q.query);
}

/* A recording has no difference from itself. */
static inline void look_diff(const struct recording *r, uint64_t hash)
{
    static const char *const names[2] = {"a.tide", "b.tide"};
    const struct recording *const both[2] = {r, r};
    struct query q;
    struct diff d;
    struct err err;
    query_init(&q);
    q.metric = (enum metric)(hash % METRICS);
    q.by = (enum grouping)(hash / 16 % GROUPINGS);
    q.shape = (enum shape)(hash / 512 % 4);
    q.function = "main";
    q.filter.presets = hash / 2048 % 2;
    if (diff_query(&d, both, names, &q, &err) == 0) {
        look_must(diff_is_empty(&d));
        diff_release(&d);
    }
    query_release(&q);
}

/* In every format. */
static inline void look_document(const struct document *d, const struct style *s,
                                 struct strbuf *out)
{
    document_text(d, s, out);
    document_json(d, NULL, out);
    rows_csv(&d->rows, NULL, out);
}

static inline void look_maps(const struct recording *r, uint64_t hash)
{
    static const char *const moments[] = {NULL, "start", "50%", "end"};
    struct mappings m;
    struct err err;
    if (mappings_init(&m, r, &r->profiles.items[0], moments[hash % 4], moments[hash / 4 % 4],
                      (enum mapping_grouping)(hash / 16 % MAPPING_GROUPINGS), 10, &err) == 0) {
        struct strbuf out = {0};
        const struct style style = {0};
        const struct document document = maps_document(&m);
        m.numa = hash / 64 % 2;
        look_document(&document, &style, &out);
        strbuf_release(&out);
        mappings_release(&m);
    }
}

static inline void look_growth(const struct recording *r, uint64_t hash)
{
    struct growth_question q = {.per = hash % 4 ? NULL : "value"};
    struct growth g;
    struct err err;
    query_init(&q.query);
    if (growth_init(&g, r, &q, &err) == 0) {
        struct strbuf out = {0};
        const struct style style = {0};
        growth_text(&g, "x.tide", 10, hash % 2, &style, &out);
        growth_json(&g, 10, &out);
        growth_csv(&g, 10, NULL, &out);
        strbuf_release(&out);
        growth_release(&g);
    }
    query_release(&q.query);
}

static inline void look_findings(const struct recording *r, uint64_t hash)
{
    struct query q;
    struct findings_all f;
    struct err err;
    query_init(&q);
    q.filter.presets = hash % 2;
    q.process = r->combined ? COMBINED_PROFILE_WORD : NULL;
    if (findings_all_init(&f, r, &q, 0, &err) == 0) {
        struct strbuf out = {0};
        const struct style style = {.width = hash / 2 % 128};
        findings_text(&f, "x.tide", 10, &style, &out);
        findings_brief(&f, "x.tide", 3, &out);
        findings_json(&f, 10, &out);
        findings_csv(&f, 10, NULL, &out);
        strbuf_release(&out);
        findings_all_release(&f);
    }
    query_release(&q);
}

/* Its threads, its peaks, and what led to them. */
static inline void look_peaks(const struct recording *r, uint64_t hash)
{
    const struct peak_options options = {.least_change = hash % 2 ? -1 : 0};
    const struct style style = {.width = 40 + hash / 2 % 128};
    struct query q;
    struct threads t;
    struct peaks p;
    struct tree d;
    struct strbuf out = {0};
    struct err err;
    query_init(&q);
    if (threads_init(&t, r, &q, &err) == 0) {
        const struct document document = threads_document(&t, 10);
        look_document(&document, &style, &out);
        threads_release(&t);
    }
    if (peaks_init(&p, r, &q, &options, &err) == 0) {
        struct json_stacks stacks = {.frames = &p.places.total.frames};
        const struct peaks_listing listing = {&p, "x.tide", "", &stacks};
        peaks_keep_highest(&p, 10);
        const struct document document = peaks_document(&listing);
        look_document(&document, &style, &out);
        json_stacks_release(&stacks);
        peaks_release(&p);
    }
    if (tree_init(&d, r, &q, hash / 256 % 2, &err) == 0) {
        const struct tree_listing listing = {.tree = &d, .heading = "heading"};
        const struct document document = tree_document(&listing, 10);
        look_document(&document, &style, &out);
        tree_release(&d);
    }
    strbuf_release(&out);
    query_release(&q);
}

/* In one of the formats, whichever: as it is, or of a moment. */
static inline void look_export(struct recording *r, uint64_t hash)
{
    static const char *const tables[] = {"report",  "leaks", "stamps",
                                         "threads", "maps",  "processes"};
    const struct export_format *f = &export_formats[hash % export_format_count];
    struct strbuf out = {0}, notes = {0};
    struct query q;
    struct err err;
    query_init(&q);
    q.metric = hash / 16 % 4 == 1 ? METRIC_TOTAL : METRIC_LIVE;
    q.at = f->takes & EXPORT_AT && hash / 64 % 2 ? "50%" : NULL;
    q.since = f->takes & EXPORT_SINCE && hash / 128 % 2 ? "start" : NULL;
    struct export export = {.recording = r,
                            .query = &q,
                            .table = tables[hash / 256 % (sizeof tables / sizeof *tables)],
                            .file = ":memory:",
                            .out = &out,
                            .notes = &notes};
    if (f->write)
        f->write(&export, &err);
    strbuf_release(&out);
    strbuf_release(&notes);
    query_release(&q);
}

/* One of its functions, whichever. What its lines have themselves is what it has itself. */
static inline void look_annotate(const struct recording *r, uint64_t hash)
{
    struct annotate_question q = {.code = hash / 16 % 2};
    struct annotation n;
    struct answer a;
    struct err err;
    query_init(&q.query);
    q.query.metric = (enum metric)(hash % METRICS);
    if (answer_query(&a, r, &q.query, &err) == 0) {
        size_t rows = a.rows.rows.count;
        char *name = xstrdup(rows ? a.rows.rows.items[hash / 32 % rows].name : "main");
        answer_release(&a);
        q.function = name;
        if (annotate(&n, r, &q, &err) == 0) {
            struct strbuf out = {0};
            const struct style style = {0};
            struct value self = {0};
            for (size_t i = 0; i < n.places.count; i++) {
                look_must(n.places.items[i].parent == PLACE_NONE || n.places.items[i].parent < i);
                if (n.places.items[i].parent == PLACE_NONE)
                    value_join(&self, n.places.items[i].self, n.answer.tree.by_max);
            }
            look_must(self.amount == n.self.amount);
            annotate_text(&n, q.code, hash / 64 % 4, &style, &out);
            annotate_json(&n, q.code, &out);
            annotate_csv(&n, q.code, &out);
            annotate_html(&n, q.code, &out);
            strbuf_release(&out);
            annotation_release(&n);
        }
        free(name);
    }
    query_release(&q.query);
}

/* The bytes of the merge of this one recording. */
static inline void look_merged(struct recording *r, struct strbuf *out)
{
    struct merging *m = merging_new();
    struct err err;
    if (merging_add(m, r, "x.tide", &err) == 0) {
        struct recording *merged = merging_finish(m);
        look_whole(merged);
        recording_write(out, merged);
        recording_free(merged);
    }
    merging_free(m);
}

/* Whatever can be merged gives a recording that opens, and merging that again changes nothing. */
static inline void look_merge(struct recording *r)
{
    struct strbuf once = {0}, twice = {0}, out = {0};
    const struct style style = {.width = 80};
    struct recording *again = NULL;
    struct err err;
    if (r->profiles.items[0].merge) {
        struct document d = merge_inputs_document(&r->profiles.items[0]);
        look_document(&d, &style, &out);
    }
    look_merged(r, &once);
    if (once.size) {
        look_must(recording_parse(once.data, once.size, "once.tide", &again, &err) == 0);
        if (again->incomplete)
            fprintf(stderr, "merged: %s\n", again->incomplete);
        look_must(again->complete);
        look_merged(again, &twice);
        look_must(twice.size == once.size && memcmp(once.data, twice.data, once.size) == 0);
        look_ask(again, XXH3_64bits(once.data, once.size));
        recording_free(again);
    }
    strbuf_release(&once);
    strbuf_release(&twice);
    strbuf_release(&out);
}

/* `hash`: any number, which question. */
static inline void look(struct recording *r, uint64_t hash)
{
    struct err err;
    look_whole(r);
    if (hash >> 40 & 1 && combined_profile_make(r, &err) == 0)
        look_profile(r->combined);
    look_ask(r, hash);
    look_for_leaks(r, hash);
    if (hash / 131072 % 4 == 0)
        look_diff(r, hash);
    if (hash / 524288 % 8 == 0) /* it reads the program's file */
        look_annotate(r, hash / 4194304);
    look_maps(r, hash / 65536);
    look_growth(r, hash / 1048576);
    if (hash / 131072 % 8 == 1)
        look_findings(r, hash / 1048576);
    if (hash / 131072 % 8 == 2)
        look_peaks(r, hash / 1048576);
    if (hash / 131072 % 2)
        look_export(r, hash / 4194304);
    if (r->profiles.items[0].merge || hash / 131072 % 8 == 3)
        look_merge(r);
}

#endif
