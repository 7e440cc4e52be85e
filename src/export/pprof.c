/*
 * pprof: the gzip'd protobuf of `go tool pprof`, Pyroscope, Parca and speedscope. It holds one
 * moment or difference, all stacks with inlined frames, mappings with build ids, and threads as
 * labels. It loses marks, times and leaks; and of several processes it holds only one, or their
 * sum.
 *
 * pprof_otlp.h decides which stacks and metrics go in, and the names and units of the sample types;
 * locations.h numbers the functions and chooses which mappings are written.
 */
#include "base/pprof_fields.h"
#include "export/pprof_otlp.h"
#include "export/protobuf.h"

static void put_value_type(struct profile_writer *w, unsigned field, const char *type,
                           const char *unit)
{
    struct strbuf m = {0};
    proto_number(&m, 1, locations_string(&w->locations, type));
    proto_number(&m, 2, locations_string(&w->locations, unit));
    proto_message(&w->message, field, &m);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void put_label(struct profile_writer *w, struct strbuf *m, const char *key, const char *text,
                      uint64_t number)
{
    struct strbuf label = {0};
    proto_number(&label, 1, locations_string(&w->locations, key));
    proto_number(&label, 2, text ? locations_string(&w->locations, text) : 0);
    proto_number(&label, 3, number);
    proto_message(m, 3, &label);
}

/* A row without a call stands for what was left out. */
static void put_sample(struct profile_writer *w, const struct stack_row *row)
{
    const struct profile *profile = w->table->profile;
    struct strbuf m = {0}, list = {0};
    profile_stack(w, row, &list);
    proto_message(&m, 1, &list);
    for (size_t i = 0; i < w->table->column_count; i++) {
        if (w->counts)
            strbuf_varint(&list, (uint64_t)row->values[i].count);
        strbuf_varint(&list, (uint64_t)row->values[i].amount);
    }
    proto_message(&m, 2, &list);
    if (profile_has_thread(w, row)) {
        put_label(w, &m, "thread", stack_table_thread(w->table, row), 0);
        if (!profile->together)
            put_label(w, &m, "tid", NULL, profile->threads.items[row->thread].tid);
    }
    if (!w->limits && !profile->together && !profile_lacks(profile, UNKNOWN_PROCESS))
        put_label(w, &m, "pid", NULL, profile->pid);
    proto_message(&w->message, PROFILE_SAMPLE, &m);
}

/* --- code ------------------------------------------------------------------------------------- */

static void put_mappings(struct profile_writer *w)
{
    struct locations *l = &w->locations;
    for (size_t i = 0; i < l->mappings.count; i++) {
        const struct module *module = l->mappings.items[i];
        struct strbuf m = {0};
        proto_number(&m, 1, i + 1);
        proto_number(&m, 2, module->start);
        proto_number(&m, 3, module->end);
        proto_number(&m, 5, locations_string(l, module->path));
        proto_number(&m, 6, locations_build_id(l, module));
        for (unsigned has = 7; has <= 10; has++) /* names, files, lines, inlined functions */
            proto_number(&m, has, 1);
        proto_message(&w->message, PROFILE_MAPPING, &m);
    }
}

static void put_locations(struct profile_writer *w)
{
    const struct locations *l = &w->locations;
    for (size_t i = 0; i < l->items.count; i++) {
        const struct location *one = &l->items.items[i];
        struct strbuf m = {0};
        proto_number(&m, 1, i + 1);
        proto_number(&m, 2, one->mapping);
        proto_number(&m, 3, one->address);
        locations_put_lines(l, one, 4, &m);
        proto_message(&w->message, PROFILE_LOCATION, &m);
    }
}

static void put_functions(struct profile_writer *w)
{
    const struct locations *l = &w->locations;
    for (size_t i = 0; i < l->functions.count; i++) {
        const struct location_function *f = &l->functions.items[i];
        struct strbuf m = {0};
        proto_number(&m, 1, i + 1);
        proto_number(&m, 2, f->name);
        proto_number(&m, 3, f->name);
        proto_number(&m, 4, f->file);
        proto_message(&w->message, PROFILE_FUNCTION, &m);
    }
}

static void put_profile(struct profile_writer *w, const struct stack_row *rows, size_t count)
{
    const struct stack_table *t = w->table;
    const struct profile *profile = t->profile;
    struct strbuf command = {0};
    enum metric first = t->columns[0].metric, last = t->columns[t->column_count - 1].metric;
    for (size_t i = 0; i < t->column_count; i++) {
        struct profile_names names = profile_names(t->columns[i].metric);
        if (w->counts)
            put_value_type(w, PROFILE_SAMPLE_TYPE, names.count, "count");
        put_value_type(w, PROFILE_SAMPLE_TYPE, names.amount, profile_unit(t->columns[i].metric));
    }
    /* Readers take the first mapping for the program itself. */
    for (size_t i = 0; profile->executable && i < profile->modules.count; i++)
        if (strcmp(profile->modules.items[i].path, profile->executable) == 0)
            locations_mapping(&w->locations, &profile->modules.items[i]);
    for (size_t i = 0; i < count; i++)
        put_sample(w, &rows[i]);
    put_mappings(w);
    put_locations(w);
    put_functions(w);
    proto_number(&w->message, PROFILE_TIME,
                 w->limits ? w->limits->until_unix_ns : profile->start_unix_ns);
    proto_number(&w->message, PROFILE_DURATION, profile_duration(w));
    put_value_type(w, PROFILE_PERIOD_TYPE, profile_period_type(first), profile_unit(first));
    proto_number(&w->message, PROFILE_PERIOD, profile_period(w));
    profile_command(profile, &command);
    proto_number(&w->message, PROFILE_COMMENT, locations_string(&w->locations, command.data));
    proto_number(&w->message, PROFILE_DEFAULT_TYPE,
                 locations_string(&w->locations, profile_names(last).amount));
    for (size_t i = 0; i < w->locations.strings.strings.count; i++)
        proto_text(&w->message, PROFILE_STRING, w->locations.strings.strings.items[i]);
    strbuf_release(&command);
}

int export_pprof(struct export *e, struct err *err)
{
    return profile_write(e, put_profile, err);
}
