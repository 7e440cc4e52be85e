/*
 * pprof: the gzip'd protobuf of `go tool pprof`, Pyroscope, Parca and speedscope.
 *
 * It holds one moment or difference, all stacks with inlined frames, mappings with build ids, and
 * threads as labels. It loses marks, times and leaks, and of processes all but one or their sum.
 */
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/pprof_fields.h"
#include "export/export.h"
#include "export/protobuf.h"

/* What the two values of a metric are called. */
static const struct pprof_names {
    const char *count, *amount;
} names[METRICS] = {
    [METRIC_LIVE] = {"inuse_objects", "inuse_space"},
    [METRIC_TOTAL] = {"alloc_objects", "alloc_space"},
    [METRIC_PEAK] = {"peak_objects", "peak_space"},
    [METRIC_SITEPEAK] = {"sitepeak_objects", "sitepeak_space"},
    [METRIC_LARGEST] = {"largest_objects", "largest_space"},
    [METRIC_TEMPORARY] = {"temporary_objects", "temporary_space"},
    [METRIC_MAPPED] = {"mapped_objects", "mapped_space"},
    [METRIC_POOL] = {"pool_objects", "pool_space"},
    [METRIC_CPU] = {"samples", "cpu"},
    [METRIC_FAULTS] = {"faults", "fault_space"},
    [METRIC_UNTOUCHED] = {"untouched_objects", "untouched_space"},
    [METRIC_TOUCHED] = {"touches", "touched_space"},
    [METRIC_WALL] = {"times", "wall"},
    [METRIC_WAITING] = {"waits", "waiting"},
    [METRIC_SAMPLES] = {"samples", "events"},
};

/* A location is an address with the functions that are inlined there, as far as they are listed. */
struct location {
    uint64_t address; /* of the node */
    uint32_t first, count;
};

struct pprof {
    const struct stack_table *table;
    struct pprof_limits *limits; /* NULL: none */
    uint32_t other;              /* the location [other]; 0: not yet */
    struct strbuf message;
    struct strpool strings;
    struct map functions; /* name and file -> id */
    struct map mappings;  /* module -> id */
    uint32_t *of_call;    /* innermost call of a location -> its id; 0: not yet */
    VEC(struct location) locations;
    VEC(uint32_t) frames; /* of locations, innermost first */
    VEC(uint32_t) next;   /* locations with the same hash */
    struct map by_hash;
};

/* Protobuf's strings are UTF-8. */
static uint32_t string_of(struct pprof *p, const char *text)
{
    strpool_add(&p->strings, "");
    char *decoded = json_decoded(text);
    uint32_t number = strpool_add(&p->strings, decoded);
    free(decoded);
    return number;
}

static void put_value_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
    struct strbuf m = {0};
    proto_number(&m, 1, string_of(p, type));
    proto_number(&m, 2, string_of(p, unit));
    proto_message(&p->message, field, &m);
}

static uint64_t function_of(struct pprof *p, const struct stack_frame *f)
{
    uint32_t name = string_of(p, f->name), file = string_of(p, f->file);
    uint32_t *id = map_at(&p->functions, (uint64_t)name << 32 | file);
    if (*id == MAP_NONE) {
        struct strbuf m = {0};
        *id = (uint32_t)p->functions.count;
        proto_number(&m, 1, *id);
        proto_number(&m, 2, name);
        proto_number(&m, 3, name);
        proto_number(&m, 4, file);
        proto_message(&p->message, PROFILE_FUNCTION, &m);
    }
    return *id;
}

static uint64_t mapping_of(struct pprof *p, const struct module *module)
{
    if (!module)
        return 0;
    uint32_t *id = map_at(&p->mappings, (uint64_t)(module - p->table->profile->modules.items));
    if (*id != MAP_NONE)
        return *id;
    struct strbuf m = {0}, build_id = {0};
    *id = (uint32_t)p->mappings.count;
    strbuf_puts(&build_id, "");
    for (uint32_t i = 0; i < module->build_id_size && i < sizeof module->build_id; i++)
        strbuf_printf(&build_id, "%02x", module->build_id[i]);
    proto_number(&m, 1, *id);
    proto_number(&m, 2, module->start);
    proto_number(&m, 3, module->end);
    proto_number(&m, 5, string_of(p, module->path));
    proto_number(&m, 6, string_of(p, build_id.data));
    for (unsigned has = 7; has <= 10;
         has++) /* names, files, lines and inlined functions are here */
        proto_number(&m, has, 1);
    uint64_t result = *id;
    proto_message(&p->message, PROFILE_MAPPING, &m);
    strbuf_release(&build_id);
    return result;
}

/* --- locations -------------------------------------------------------------------------------- */

static bool same_location(const struct pprof *p, const struct location *a, const struct location *b)
{
    return a->address == b->address && a->count == b->count &&
           memcmp(p->frames.items + a->first, p->frames.items + b->first,
                  a->count * sizeof *p->frames.items) == 0;
}

static void put_location(struct pprof *p, const struct location *l, uint32_t id)
{
    bool native = !NODE_IS_PYTHON(l->address) && NODE_PC(l->address) > NODE_POOL + 4096;
    struct strbuf m = {0};
    proto_number(&m, 1, id);
    if (native) {
        proto_number(&m, 2, mapping_of(p, module_at(p->table->profile, l->address)));
        proto_number(&m, 3, NODE_PC(l->address) - 1); /* of the call, not what follows it */
    }
    for (uint32_t i = 0; i < l->count; i++) {
        struct stack_frame f = stack_frame_of(&p->table->frames, p->frames.items[l->first + i]);
        struct strbuf line = {0};
        proto_number(&line, 1, function_of(p, &f));
        proto_number(&line, 2, f.line);
        proto_message(&m, 4, &line);
    }
    proto_message(&p->message, PROFILE_LOCATION, &m);
}

/* The location that stands for calls and stacks that are left out. */
static uint32_t other_location(struct pprof *p)
{
    if (p->other)
        return p->other;
    const struct stack_frame f = {.name = "[other]", .file = ""};
    struct strbuf m = {0}, line = {0};
    *vec_push(&p->next) = MAP_NONE; /* nothing is compared with it */
    *vec_push(&p->locations) = (struct location){0};
    p->other = (uint32_t)p->locations.count;
    proto_number(&m, 1, p->other);
    proto_number(&line, 1, function_of(p, &f));
    proto_message(&m, 4, &line);
    proto_message(&p->message, PROFILE_LOCATION, &m);
    return p->other;
}

/* The call that called the location which begins with this one; 0: none. */
static uint32_t location_caller(const struct pprof *p, uint32_t call)
{
    const struct call_tree *t = &p->table->tree;
    uint32_t node = t->node.items[call];
    do
        call = t->parent.items[call];
    while (call && node && t->node.items[call] == node);
    return call;
}

/* The location that begins with a call, and in *outer the call that called it. */
static uint32_t location_of(struct pprof *p, uint32_t call, uint32_t *outer)
{
    const struct call_tree *t = &p->table->tree;
    uint32_t node = t->node.items[call];
    struct location l = {.address = p->table->profile->nodes.items[node].address,
                         .first = (uint32_t)p->frames.count};
    if (!node)
        l.address = 0;
    uint64_t hash = l.address;
    uint32_t c = call;
    do {
        *vec_push(&p->frames) = t->frame.items[c];
        hash = (hash ^ t->frame.items[c]) * UINT64_C(0x9e3779b97f4a7c15);
        c = t->parent.items[c];
        l.count++;
    } while (c && node && t->node.items[c] == node);
    *outer = c;
    uint32_t *found = &p->of_call[call];
    if (*found) {
        p->frames.count = l.first;
        return *found;
    }
    uint32_t *head = map_at(&p->by_hash, hash);
    for (uint32_t i = *head; i != MAP_NONE; i = p->next.items[i])
        if (same_location(p, &l, &p->locations.items[i])) {
            p->frames.count = l.first;
            return *found = i + 1;
        }
    *vec_push(&p->next) = *head;
    *head = (uint32_t)p->locations.count;
    *vec_push(&p->locations) = l;
    put_location(p, &l, *head + 1);
    return *found = (uint32_t)p->locations.count;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void put_label(struct pprof *p, struct strbuf *m, const char *key, const char *text,
                      uint64_t number)
{
    struct strbuf label = {0};
    proto_number(&label, 1, string_of(p, key));
    proto_number(&label, 2, text ? string_of(p, text) : 0);
    proto_number(&label, 3, number);
    proto_message(m, 3, &label);
}

/* The innermost call that is shown; [other] is listed for those inside it. */
static uint32_t cut_at_depth(struct pprof *p, uint32_t call, struct strbuf *list)
{
    size_t depth = 0;
    for (uint32_t c = call; c; c = location_caller(p, c))
        depth++;
    if (depth <= p->limits->max_depth)
        return call;
    p->limits->cut++;
    strbuf_varint(list, other_location(p));
    for (; depth >= p->limits->max_depth; depth--)
        call = location_caller(p, call);
    return call;
}

/* A row without a call is what was left out. */
static void put_sample(struct pprof *p, const struct stack_row *row)
{
    const struct profile *profile = p->table->profile;
    struct strbuf m = {0}, list = {0};
    uint32_t first = row->call;
    if (p->limits && !first)
        strbuf_varint(&list, other_location(p));
    else if (p->limits)
        first = cut_at_depth(p, first, &list);
    for (uint32_t call = first, outer; call; call = outer)
        strbuf_varint(&list, location_of(p, call, &outer));
    proto_message(&m, 1, &list);
    for (size_t i = 0; i < p->table->column_count; i++) {
        strbuf_varint(&list, (uint64_t)row->values[i].count);
        strbuf_varint(&list, (uint64_t)row->values[i].amount);
    }
    proto_message(&m, 2, &list);
    if (p->limits) {
        proto_message(&p->message, PROFILE_SAMPLE, &m);
        return;
    }
    if (row->thread < profile->threads.count) {
        put_label(p, &m, "thread", stack_table_thread(p->table, row), 0);
        if (!profile->together)
            put_label(p, &m, "tid", NULL, profile->threads.items[row->thread].tid);
    }
    if (!profile->together)
        put_label(p, &m, "pid", NULL, profile->pid);
    proto_message(&p->message, PROFILE_SAMPLE, &m);
}

static void put_profile(struct pprof *p, const struct stack_row *rows, size_t count)
{
    const struct stack_table *t = p->table;
    const struct profile *profile = t->profile;
    struct strbuf command = {0};
    bool time = metric_is_time(t->columns[0].metric);
    bool events = t->columns[0].metric == METRIC_SAMPLES;
    const char *unit = time ? "nanoseconds" : events ? "count" : "bytes";
    for (size_t i = 0; i < t->column_count; i++) {
        put_value_type(p, PROFILE_SAMPLE_TYPE, names[t->columns[i].metric].count, "count");
        put_value_type(p, PROFILE_SAMPLE_TYPE, names[t->columns[i].metric].amount, unit);
    }
    /* Readers take the first mapping for the program itself. */
    for (size_t i = 0; profile->executable && i < profile->modules.count; i++)
        if (strcmp(profile->modules.items[i].path, profile->executable) == 0)
            mapping_of(p, &profile->modules.items[i]);
    for (size_t i = 0; i < count; i++)
        put_sample(p, &rows[i]);
    const char *last = names[t->columns[t->column_count - 1].metric].amount;
    proto_number(&p->message, PROFILE_TIME,
                 p->limits ? p->limits->until_unix_ns : profile->start_unix_ns);
    proto_number(&p->message, PROFILE_DURATION, profile->duration_ns);
    put_value_type(p, PROFILE_PERIOD_TYPE, time ? "cpu" : events ? "events" : "space", unit);
    proto_number(&p->message, PROFILE_PERIOD, time ? profile->sampling.cpu_period_ns : 1);
    profile_command(profile, &command);
    proto_number(&p->message, PROFILE_COMMENT, string_of(p, command.data));
    proto_number(&p->message, PROFILE_DEFAULT_TYPE, string_of(p, last));
    for (size_t i = 0; i < p->strings.strings.count; i++)
        proto_text(&p->message, PROFILE_STRING, p->strings.strings.items[i]);
    strbuf_release(&command);
}

static int compress(const struct strbuf *message, struct strbuf *out, struct err *err)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    if (!c)
        return err_set(err, -ENOMEM, "there is no memory to compress the profile");
    strbuf_reserve(out, libdeflate_gzip_compress_bound(c, message->size));
    out->size += libdeflate_gzip_compress(c, message->data, message->size, out->data + out->size,
                                          out->capacity - out->size);
    libdeflate_free_compressor(c);
    return 0;
}

static void pprof_init(struct pprof *p, const struct stack_table *table, struct pprof_limits *l)
{
    *p = (struct pprof){.table = table, .limits = l};
    p->of_call = xcalloc(table->tree.parent.count + 1, sizeof *p->of_call);
    strpool_add(&p->strings, "");
}

static void pprof_release(struct pprof *p)
{
    strbuf_release(&p->message);
    strpool_release(&p->strings);
    map_release(&p->functions);
    map_release(&p->mappings);
    map_release(&p->by_hash);
    vec_release(&p->locations);
    vec_release(&p->frames);
    vec_release(&p->next);
    free(p->of_call);
}

/* --- within limits ---------------------------------------------------------------------------- */

/* Fewer rows until it fits: the last of those that are kept is what was left out. */
static void put_within(struct pprof *p, const struct stack_table *table, struct pprof_limits *l)
{
    struct ranked_rows all;
    stack_table_rank(table, &all);
    size_t keep = all.count <= l->max_samples ? all.count : l->max_samples - 1;
    for (;;) {
        struct stack_row *rows = xcalloc(keep + 1, sizeof *rows);
        if (keep)
            memcpy(rows, all.items, keep * sizeof *rows);
        size_t count = keep + (keep < all.count);
        for (size_t i = keep; i < all.count; i++)
            stack_table_join(table, &rows[keep], &all.items[i]);
        l->samples = count;
        l->pruned = all.count - keep;
        l->other = rows[keep].values[table->column_count - 1];
        l->cut = 0;
        pprof_init(p, table, l);
        put_profile(p, rows, count);
        free(rows);
        if (p->message.size <= l->max_bytes || !keep)
            break;
        /* As if all were equally large, and at least a tenth fewer. */
        size_t fits = (size_t)((double)keep * (double)l->max_bytes / (double)p->message.size);
        keep = fits < keep - keep / 10 ? fits : keep - keep / 10 - (keep < 10);
        pprof_release(p);
    }
    vec_release(&all);
}

int export_pprof(struct export *e, struct err *err)
{
    const struct stack_column heap[] = {{METRIC_TOTAL, e->query->size},
                                        {METRIC_LIVE, e->query->size}};
    const struct stack_column one = {e->query->metric, e->query->size};
    struct stack_table table;
    struct pprof p;
    int code = e->metric_given ? stack_table_init(&table, e->recording, e->query, &one, 1, err)
                               : stack_table_init(&table, e->recording, e->query, heap, 2, err);
    if (code)
        return code;
    if (e->limits) {
        const struct window *w = &table.windows[table.column_count - 1];
        uint64_t start = table.profile->start_unix_ns;
        e->limits->from_unix_ns = start ? start + w->since.time_ns : 0;
        e->limits->until_unix_ns = start ? start + w->at.time_ns : 0;
        put_within(&p, &table, e->limits);
    } else {
        pprof_init(&p, &table, NULL);
        put_profile(&p, table.rows.items, table.rows.count);
    }
    code = compress(&p.message, e->out, err);
    pprof_release(&p);
    stack_table_release(&table);
    return code;
}
