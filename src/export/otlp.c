/*
 * otlp: OpenTelemetry's profiles, the message ProfilesData of v1development, compressed with gzip.
 * Experimental: OpenTelemetry still changes this format.
 *
 * It holds what pprof does: one moment or difference, all stacks with inlined frames, mappings with
 * build ids, threads as attributes. A profile has one type of value, so there is one for each
 * metric's amount and one for its count, all with the same tables of code. It loses marks, times
 * and leaks; and of several processes it holds only one, or their sum. In each table, entry 0 is
 * empty and means "none", so the numbers of locations.h can be used unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "export/pprof_otlp.h"
#include "export/protobuf.h"

/* Field numbers of opentelemetry/proto/profiles/v1development/profiles.proto. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum {
    DICTIONARY_MAPPING = 1,
    DICTIONARY_LOCATION = 2,
    DICTIONARY_FUNCTION = 3,
    DICTIONARY_LINK = 4,
    DICTIONARY_STRING = 5,
    DICTIONARY_ATTRIBUTE = 6,
    DICTIONARY_STACK = 7,
};
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_TIME = 3,
    PROFILE_DURATION = 4,
    PROFILE_PERIOD_TYPE = 5,
    PROFILE_PERIOD = 6,
};
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum { ANY_STRING = 1, ANY_INT = 3 };

#define PROFILES_MOST (2 * STACK_COLUMNS)

struct otlp {
    struct profile_writer *writer;
    struct strbuf stacks, attributes; /* entries of the dictionary */
    struct map stack_of;              /* innermost call -> number */
    struct map attribute_of;          /* (key, value) -> number */
    struct strbuf samples[PROFILES_MOST];
};

/* --- the dictionary --------------------------------------------------------------------------- */

/* The number of an attribute: a text, or a number if there is no text. */
static uint32_t attribute_of(struct otlp *o, const char *key, const char *text, uint32_t number)
{
    struct locations *l = &o->writer->locations;
    uint32_t name = locations_string(l, key), value = text ? locations_string(l, text) : number;
    uint32_t *known = map_at(&o->attribute_of, (uint64_t)name << 32 | value);
    if (*known != MAP_NONE)
        return *known;
    struct strbuf m = {0}, any = {0};
    *known = (uint32_t)o->attribute_of.count - 1;
    if (text)
        proto_text(&any, ANY_STRING, strpool_get(&l->strings, value));
    else
        proto_number(&any, ANY_INT, number);
    proto_number(&m, 1, name);
    proto_message(&m, 2, &any);
    uint32_t result = *known;
    proto_message(&o->attributes, DICTIONARY_ATTRIBUTE, &m);
    return result;
}

static uint32_t stack_of(struct otlp *o, const struct stack_row *row)
{
    uint32_t *known = map_at(&o->stack_of, row->call);
    if (*known != MAP_NONE)
        return *known;
    struct strbuf list = {0}, m = {0};
    uint32_t result = *known = (uint32_t)o->stack_of.count - 1;
    profile_stack(o->writer, row, &list);
    proto_message(&m, 1, &list);
    proto_message(&o->stacks, DICTIONARY_STACK, &m);
    return result;
}

static void put_mappings(struct otlp *o, struct strbuf *out)
{
    struct locations *l = &o->writer->locations;
    for (size_t i = 0; i < l->mappings.count; i++) {
        const struct module *module = l->mappings.items[i];
        struct strbuf m = {0}, attributes = {0};
        proto_number(&m, 1, module->start);
        proto_number(&m, 2, module->end);
        proto_number(&m, 4, locations_string(l, module->path));
        const char *build_id = strpool_get(&l->strings, locations_build_id(l, module));
        if (*build_id) {
            char *text = xstrdup(build_id);
            strbuf_varint(&attributes, attribute_of(o, "process.executable.build_id.gnu", text, 0));
            free(text);
            proto_message(&m, 5, &attributes);
        }
        proto_message(out, DICTIONARY_MAPPING, &m);
    }
}

static void put_locations(struct otlp *o, struct strbuf *out)
{
    const struct locations *l = &o->writer->locations;
    for (size_t i = 0; i < l->items.count; i++) {
        const struct location *one = &l->items.items[i];
        struct strbuf m = {0}, attributes = {0};
        proto_number(&m, 1, one->mapping);
        proto_number(&m, 2, one->address);
        locations_put_lines(l, one, 3, &m);
        if (one->address || NODE_IS_PYTHON(one->node_address)) {
            const char *kind = one->address ? "native" : "cpython";
            strbuf_varint(&attributes, attribute_of(o, "profile.frame.type", kind, 0));
            proto_message(&m, 4, &attributes);
        }
        proto_message(out, DICTIONARY_LOCATION, &m);
    }
}

static void put_functions(const struct locations *l, struct strbuf *out)
{
    for (size_t i = 0; i < l->functions.count; i++) {
        struct strbuf m = {0};
        proto_number(&m, 1, l->functions.items[i].name);
        proto_number(&m, 2, l->functions.items[i].name);
        proto_number(&m, 3, l->functions.items[i].file);
        proto_message(out, DICTIONARY_FUNCTION, &m);
    }
}

/* The first entry of each table is empty; attributes and stacks have theirs already. */
static void put_dictionary(struct otlp *o, struct strbuf *out)
{
    struct locations *l = &o->writer->locations;
    struct strbuf dictionary = {0};
    static const unsigned tables[] = {DICTIONARY_MAPPING, DICTIONARY_LOCATION, DICTIONARY_FUNCTION,
                                      DICTIONARY_LINK};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        proto_text(&dictionary, tables[i], "");
    put_mappings(o, &dictionary);
    put_locations(o, &dictionary);
    put_functions(l, &dictionary);
    strbuf_add(&dictionary, o->attributes.data, o->attributes.size);
    strbuf_add(&dictionary, o->stacks.data, o->stacks.size);
    for (size_t i = 0; i < l->strings.strings.count; i++)
        proto_text(&dictionary, DICTIONARY_STRING, l->strings.strings.items[i]);
    proto_message(out, DATA_DICTIONARY, &dictionary);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* A row is a sample of each profile in which it has a value. */
static void put_samples(struct otlp *o, const struct stack_row *row)
{
    const struct stack_table *t = o->writer->table;
    const struct profile *profile = t->profile;
    struct strbuf attributes = {0};
    uint32_t stack = stack_of(o, row);
    if (profile_has_thread(o->writer, row)) {
        uint32_t tid = profile->threads.items[row->thread].tid;
        strbuf_varint(&attributes, attribute_of(o, "thread.name", stack_table_thread(t, row), 0));
        if (!profile->together && tid)
            strbuf_varint(&attributes, attribute_of(o, "thread.id", NULL, tid));
    }
    for (size_t i = 0; i < 2 * t->column_count; i++) {
        const struct value *value = &row->values[i / 2];
        int64_t v = i % 2 ? value->count : value->amount;
        struct strbuf m = {0}, values = {0};
        if (!v || (i % 2 && !o->writer->counts))
            continue;
        proto_number(&m, SAMPLE_STACK, stack);
        if (attributes.size)
            proto_bytes(&m, SAMPLE_ATTRIBUTES, attributes.data, attributes.size);
        strbuf_varint(&values, (uint64_t)v);
        proto_message(&m, SAMPLE_VALUES, &values);
        proto_message(&o->samples[i], PROFILE_SAMPLE, &m);
    }
    strbuf_release(&attributes);
}

static void put_value_type(struct otlp *o, struct strbuf *out, unsigned field, const char *type,
                           const char *unit)
{
    struct strbuf m = {0};
    proto_number(&m, 1, locations_string(&o->writer->locations, type));
    proto_number(&m, 2, locations_string(&o->writer->locations, unit));
    proto_message(out, field, &m);
}

/* The profile of a column's amounts, or of its counts. */
static void put_profile(struct otlp *o, struct strbuf *out, size_t column, bool counts)
{
    const struct profile_writer *w = o->writer;
    const struct profile *profile = w->table->profile;
    enum metric metric = w->table->columns[column].metric;
    struct profile_names names = profile_names(metric);
    const char *unit = profile_unit(metric);
    struct strbuf m = {0}, *samples = &o->samples[2 * column + counts];
    put_value_type(o, &m, PROFILE_SAMPLE_TYPE, counts ? names.count : names.amount,
                   counts ? "count" : unit);
    if (samples->size)
        strbuf_add(&m, samples->data, samples->size);
    proto_fixed64(&m, PROFILE_TIME, w->limits ? w->limits->until_unix_ns : profile->start_unix_ns);
    proto_number(&m, PROFILE_DURATION, profile_duration(w));
    put_value_type(o, &m, PROFILE_PERIOD_TYPE, profile_period_type(metric), unit);
    proto_number(&m, PROFILE_PERIOD, profile_period(w));
    proto_message(out, SCOPE_PROFILES_PROFILES, &m);
}

/* --- the resource ----------------------------------------------------------------------------- */

static void put_resource_attribute(struct strbuf *out, const char *key, size_t key_size,
                                   const char *text, uint64_t number)
{
    struct strbuf m = {0}, any = {0};
    char *decoded = text ? json_decoded(text) : NULL; /* protobuf's strings are UTF-8 */
    if (decoded)
        proto_text(&any, ANY_STRING, decoded);
    else
        proto_number(&any, ANY_INT, number);
    free(decoded);
    proto_bytes(&m, 1, key, key_size);
    proto_message(&m, 2, &any);
    proto_message(out, 1, &m);
}

#define RESOURCE_TEXT(out, key, text) put_resource_attribute(out, key, strlen(key), text, 0)

/* The names are those of OpenTelemetry's semantic conventions; labels are the user's. */
static void put_resource(const struct otlp *o, struct strbuf *out)
{
    const struct export *e = o->writer->export;
    const struct profile *p = o->writer->table->profile;
    struct strbuf m = {0};
    const char *program = p->command.count ? path_program(p->command.items[0]) : "";
    const char *service = e->service ? e->service : program;
    if (*service)
        RESOURCE_TEXT(&m, "service.name", service);
    if (p->host && *p->host)
        RESOURCE_TEXT(&m, "host.name", p->host);
    if (p->executable && *p->executable)
        RESOURCE_TEXT(&m, "process.executable.path", p->executable);
    if (p->pid && !p->together)
        put_resource_attribute(&m, "process.pid", strlen("process.pid"), NULL, p->pid);
    for (size_t i = 0; i < e->label_count; i++) {
        const char *equals = strchr(e->labels[i], '=');
        put_resource_attribute(&m, e->labels[i], (size_t)(equals - e->labels[i]), equals + 1, 0);
    }
    proto_message(out, RESOURCE_PROFILES_RESOURCE, &m);
}

static void put_data(struct profile_writer *w, const struct stack_row *rows, size_t count)
{
    struct otlp o = {.writer = w};
    struct strbuf resource = {0}, scope_profiles = {0}, scope = {0};
    proto_text(&o.stacks, DICTIONARY_STACK, "");
    proto_text(&o.attributes, DICTIONARY_ATTRIBUTE, "");
    *map_at(&o.stack_of, UINT64_MAX) = 0;
    *map_at(&o.attribute_of, UINT64_MAX) = 0;
    for (size_t i = 0; i < count; i++)
        put_samples(&o, &rows[i]);
    proto_text(&scope, 1, "tidemark");
    proto_text(&scope, 2, TIDEMARK_VERSION);
    proto_message(&scope_profiles, SCOPE_PROFILES_SCOPE, &scope);
    for (size_t column = w->table->column_count; column-- > 0;) { /* readers show the first */
        put_profile(&o, &scope_profiles, column, false);
        if (w->counts)
            put_profile(&o, &scope_profiles, column, true);
    }
    put_resource(&o, &resource);
    proto_message(&resource, RESOURCE_PROFILES_SCOPES, &scope_profiles);
    proto_message(&w->message, DATA_RESOURCE_PROFILES, &resource);
    put_dictionary(&o, &w->message);
    strbuf_release(&o.stacks);
    strbuf_release(&o.attributes);
    map_release(&o.stack_of);
    map_release(&o.attribute_of);
    for (size_t i = 0; i < PROFILES_MOST; i++)
        strbuf_release(&o.samples[i]);
}

int export_otlp(struct export *e, struct err *err)
{
    return profile_write(e, put_data, err);
}
