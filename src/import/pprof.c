/*
 * pprof's profile.proto, compressed with gzip or not: sums by stack. Heap profiles have what was
 * allocated and what was in use, CPU profiles have samples and time.
 *
 * Types of values are recognised by their names (Go's, gperftools' and those that `tidemark export`
 * writes). The message is held in memory and read twice: tables first, because they mostly follow
 * the samples that refer to them. It has no moments; it has threads if samples have a label
 * "thread".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/pprof_fields.h"
#include "import/figures.h"
#include "import/protobuf_reader.h"

#define MESSAGE_FREE  ((uint64_t)64 << 20)
#define MESSAGE_RATIO 64u
#define THREADS_MAX   4096
#define VALUES_MAX    64

struct text {
    const uint8_t *at;
    size_t size;
};

struct location {
    uint32_t run;
};

struct function {
    uint64_t name, file;
};

struct reader {
    struct import *m;
    struct figures figures;
    VEC(struct text) strings;
    struct map mappings, functions, locations; /* id -> index */
    VEC(uint64_t) files;                       /* by mapping: number of a string */
    VEC(struct function) function;
    VEC(struct location) location;
    struct map threads; /* string -> thread */
    /* For each value of a sample: its field in struct figure, and the factor. */
    struct value_type {
        int field;
        bool cpu;
        uint64_t scale;
    } types[VALUES_MAX];
    size_t type_count;
    unsigned found; /* set of fields */
    bool cpu, samples_counted;
    uint64_t period, time_ns, duration_ns;
    uint64_t cpu_ns, cpu_samples;
};

/* Fields of struct figure, and those of CPU profiles. */
enum {
    FIELD_BYTES,
    FIELD_BLOCKS,
    FIELD_LIVE_BYTES,
    FIELD_LIVE_BLOCKS,
    FIELD_PEAK_BYTES,
    FIELD_PEAK_BLOCKS,
    FIELD_OWN_BYTES,
    FIELD_OWN_BLOCKS,
    FIELDS,
    FIELD_NONE
};

bool pprof_is(const char *bytes, size_t size)
{
    struct protobuf p = protobuf_of(bytes, size < 4096 ? size : 4096);
    struct field f;
    size_t fields = 0;
    while (fields < 4 && protobuf_next(&p, &f)) {
        fields++;
        if (f.number == 0 || f.number > 15)
            return false;
    }
    return fields > 0 && (!p.bad || fields >= 4 || size >= 4096);
}

static char *string_at(const struct reader *r, uint64_t number)
{
    if (number >= r->strings.count)
        return xstrdup("");
    return xstrndup((const char *)r->strings.items[number].at, r->strings.items[number].size);
}

static int damaged(const struct reader *r, struct err *err)
{
    return err_set(err, -EBADMSG, "%s is damaged or cut: it is not a whole pprof message",
                   r->m->in->name);
}

static int read_all(struct reader *r, struct strbuf *out, struct err *err)
{
    char piece[16384];
    int64_t n;
    while ((n = input_read(r->m->in, piece, sizeof piece, err)) > 0) {
        strbuf_add(out, piece, (size_t)n);
        if (out->size > MESSAGE_FREE + MESSAGE_RATIO * r->m->in->taken)
            return err_set(err, -E2BIG,
                           "%s unpacks to far more than its size explains; it is damaged or "
                           "hostile",
                           r->m->in->name);
    }
    return (int)n;
}

/* --- tables ----------------------------------------------------------------------------------- */

static uint64_t scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        uint64_t scale;
    } units[] = {
        {"nanoseconds", 1},        {"ns", 1},       {"microseconds", 1000},  {"us", 1000},
        {"milliseconds", 1000000}, {"ms", 1000000}, {"seconds", 1000000000}, {"s", 1000000000},
        {"kilobytes", 1024},       {"kb", 1024},    {"megabytes", 1048576}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].scale;
    return 1;
}

static struct value_type type_of(const char *name, const char *unit)
{
    static const struct {
        const char *name;
        int field;
        bool cpu;
    } known[] = {
        {"alloc_space", FIELD_BYTES, false},
        {"alloc_objects", FIELD_BLOCKS, false},
        {"alloc_size", FIELD_BYTES, false},
        {"allocations", FIELD_BLOCKS, false},
        {"inuse_space", FIELD_LIVE_BYTES, false},
        {"inuse_objects", FIELD_LIVE_BLOCKS, false},
        {"space", FIELD_LIVE_BYTES, false},
        {"objects", FIELD_LIVE_BLOCKS, false},
        {"peak_space", FIELD_PEAK_BYTES, false},
        {"peak_objects", FIELD_PEAK_BLOCKS, false},
        {"sitepeak_space", FIELD_OWN_BYTES, false},
        {"sitepeak_objects", FIELD_OWN_BLOCKS, false},
        {"cpu", FIELD_BYTES, true},
        {"samples", FIELD_BLOCKS, true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return (struct value_type){known[i].field, known[i].cpu, scale_of(unit)};
    return (struct value_type){.field = FIELD_NONE};
}

struct pair {
    uint64_t first, second;
};

/* Reads a message of two numbers, such as ValueType. */
static struct pair pair_of(const struct field *f, uint32_t first, uint32_t second)
{
    struct protobuf p = protobuf_of(f->bytes, f->size);
    struct pair pair = {0};
    struct field in;
    while (protobuf_next(&p, &in)) {
        if (in.number == first)
            pair.first = in.value;
        if (in.number == second)
            pair.second = in.value;
    }
    return pair;
}

static bool take_types(struct reader *r, const struct strbuf *message)
{
    struct protobuf p = protobuf_of(message->data, message->size);
    struct field f;
    while (protobuf_next(&p, &f)) {
        if (f.number != PROFILE_SAMPLE_TYPE || !f.bytes)
            continue;
        struct pair names = pair_of(&f, 1, 2);
        char *name = string_at(r, names.first), *unit = string_at(r, names.second);
        struct value_type t = type_of(name, unit);
        free(name);
        free(unit);
        if (r->type_count == VALUES_MAX)
            return false;
        r->types[r->type_count++] = t;
        if (t.field != FIELD_NONE && !t.cpu)
            r->found |= 1u << t.field;
        r->cpu |= t.cpu && t.field == FIELD_BYTES;
        r->samples_counted |= t.cpu && t.field == FIELD_BLOCKS;
    }
    return !p.bad;
}

static void take_mapping(struct reader *r, const struct field *f)
{
    struct pair v = pair_of(f, 1, 5); /* id, filename */
    *map_at(&r->mappings, v.first) = (uint32_t)r->files.count;
    *vec_push(&r->files) = v.second;
}

static void take_function(struct reader *r, const struct field *f)
{
    struct pair name = pair_of(f, 1, 2),
                system = pair_of(f, 3, 4); /* id, name, system name, file */
    *map_at(&r->functions, name.first) = (uint32_t)r->function.count;
    *vec_push(&r->function) =
        (struct function){name.second ? name.second : system.first, system.second};
}

/* One line of a location: the number of a function, and a line. */
static struct frame frame_of(struct reader *r, const struct field *f, uint32_t module)
{
    struct pair line = pair_of(f, 1, 2);
    uint32_t at = map_get(&r->functions, line.first);
    struct function function = at == MAP_NONE ? (struct function){0} : r->function.items[at];
    char *name = string_at(r, function.name), *file = string_at(r, function.file);
    size_t length = strlen(file);
    bool python = length > 3 && strcmp(file + length - 3, ".py") == 0;
    struct frame frame = stacks_make(
        &r->m->stacks, &(struct imported_frame){.function = name,
                                                .file = file,
                                                .line = (uint32_t)line.second,
                                                .kind = python ? FRAME_PYTHON : FRAME_INLINED});
    frame.module = module;
    free(name);
    free(file);
    return frame;
}

static bool take_location(struct reader *r, const struct field *f)
{
    struct pair v = pair_of(f, 1, 2), address = pair_of(f, 3, 3);
    struct protobuf p = protobuf_of(f->bytes, f->size);
    struct field line;
    VEC(struct frame) frames = {0};
    uint32_t mapping = map_get(&r->mappings, v.second);
    char *path = string_at(r, mapping == MAP_NONE ? 0 : r->files.items[mapping]);
    uint32_t module = stacks_string(&r->m->stacks, path_base(path));
    while (protobuf_next(&p, &line))
        if (line.number == 4 && line.bytes) {
            struct frame frame = frame_of(r, &line, module);
            *vec_push(&frames) = frame;
        }
    if (!frames.count) {
        char *name = xasprintf("%s+0x%llx", *path ? path_base(path) : "[unknown]",
                               (unsigned long long)address.first);
        *vec_push(&frames) =
            (struct frame){.function = stacks_string(&r->m->stacks, name), .module = module};
        free(name);
    }
    if (vec_last(&frames)->kind == FRAME_INLINED)
        vec_last(&frames)->kind = FRAME_NATIVE;
    uint32_t run = stacks_run(&r->m->stacks, frames.items, frames.count);
    *map_at(&r->locations, v.first) = (uint32_t)r->location.count;
    *vec_push(&r->location) = (struct location){run};
    vec_release(&frames);
    free(path);
    return !p.bad;
}

/* Each table needs those before it. */
static int take_tables(struct reader *r, const struct strbuf *message, struct err *err)
{
    static const uint32_t order[] = {PROFILE_STRING, PROFILE_MAPPING, PROFILE_FUNCTION,
                                     PROFILE_LOCATION};
    bool good = true;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct protobuf p = protobuf_of(message->data, message->size);
        struct field f;
        while (protobuf_next(&p, &f)) {
            if (f.number != order[i] || !f.bytes)
                continue;
            if (f.number == PROFILE_STRING)
                *vec_push(&r->strings) = (struct text){f.bytes, f.size};
            else if (f.number == PROFILE_MAPPING)
                take_mapping(r, &f);
            else if (f.number == PROFILE_FUNCTION)
                take_function(r, &f);
            else
                good &= take_location(r, &f);
            uint64_t kept = (r->strings.count + r->function.count) * 40 +
                            (r->files.count + r->location.count) * 24;
            int code = import_check(r->m, kept + message->size, err);
            if (code)
                return code;
        }
        if (p.bad || !good)
            return damaged(r, err);
    }
    return take_types(r, message) ? 0 : damaged(r, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Labels: a thread's name. Threads are known only if every sample has one. */
static uint32_t thread_of(struct reader *r, const struct field *label, uint32_t thread)
{
    struct pair v = pair_of(label, 1, 2);
    char *key = string_at(r, v.first);
    bool is = strcmp(key, "thread") == 0 || strcmp(key, "thread_name") == 0;
    free(key);
    if (!is || !v.second)
        return thread;
    uint32_t *known = map_at(&r->threads, v.second);
    struct profile *p = r->m->profile;
    if (*known == MAP_NONE && p->threads.count < THREADS_MAX) {
        *known = (uint32_t)p->threads.count;
        *vec_push(&p->threads) = (struct thread){.name = string_at(r, v.second)};
        return (uint32_t)p->threads.count - 1;
    }
    if (*known == MAP_NONE)
        *known = 0;
    return *known;
}

struct sample {
    VEC(uint64_t) locations; /* innermost first */
    uint64_t values[VALUES_MAX];
    size_t value_count;
    uint32_t thread;
};

/* A repeated number: a single one, or several packed. */
static bool take_numbers(const struct field *f, struct sample *s, bool values)
{
    struct protobuf p = protobuf_of(f->bytes, f->size);
    uint64_t number = f->value;
    for (bool first = true; first || p.at < p.end; first = false) {
        if (f->bytes && (p.at == p.end || !protobuf_varint(&p, &number)))
            return p.at == p.end && !p.bad;
        if (!values) {
            if (s->locations.count >= IMPORT_DEPTH)
                return false;
            *vec_push(&s->locations) = number;
        } else if (s->value_count < VALUES_MAX) {
            s->values[s->value_count++] = number;
        }
        if (!f->bytes)
            break;
    }
    return true;
}

static bool parse_sample(struct reader *r, const struct field *f, struct sample *s)
{
    struct protobuf p = protobuf_of(f->bytes, f->size);
    struct field in;
    bool good = true;
    s->locations.count = s->value_count = 0;
    s->thread = 0;
    while (good && protobuf_next(&p, &in)) {
        if (in.number == 1 || in.number == 2)
            good = take_numbers(&in, s, in.number == 2);
        else if (in.number == 3 && in.bytes)
            s->thread = thread_of(r, &in, s->thread);
    }
    return good && !p.bad;
}

static void add_values(struct reader *r, const struct sample *s, uint32_t node)
{
    uint64_t heap[FIELDS] = {0}, cpu[FIELDS] = {0};
    for (size_t i = 0; i < s->value_count && i < r->type_count; i++)
        if (r->types[i].field != FIELD_NONE && (int64_t)s->values[i] > 0)
            (r->types[i].cpu ? cpu : heap)[r->types[i].field] += s->values[i] * r->types[i].scale;
    uint64_t any = 0;
    for (int i = 0; i < FIELDS; i++)
        any |= heap[i];
    if (!(r->found & 1u << FIELD_BYTES)) { /* all that is known to have been allocated is in use */
        heap[FIELD_BYTES] = heap[FIELD_LIVE_BYTES];
        heap[FIELD_BLOCKS] = heap[FIELD_LIVE_BLOCKS];
    }
    if (any) {
        const struct figure v = {heap[FIELD_BYTES],      heap[FIELD_BLOCKS],
                                 heap[FIELD_LIVE_BYTES], heap[FIELD_LIVE_BLOCKS],
                                 heap[FIELD_PEAK_BYTES], heap[FIELD_PEAK_BLOCKS],
                                 heap[FIELD_OWN_BYTES],  heap[FIELD_OWN_BLOCKS]};
        figures_add(&r->figures, figures_site(&r->figures, node, s->thread, DOMAIN_HEAP), &v);
        r->m->profile->peak_bytes += v.peak_bytes;
        r->m->profile->peak_blocks += v.peak_blocks;
    }
    if (cpu[FIELD_BYTES] || cpu[FIELD_BLOCKS]) {
        struct figure v = {cpu[FIELD_BYTES], cpu[FIELD_BLOCKS]};
        if (!r->cpu)
            v.bytes = v.blocks;
        r->cpu_ns += v.bytes;
        r->cpu_samples += v.blocks;
        figures_add(&r->figures, figures_site(&r->figures, node, s->thread, DOMAIN_CPU), &v);
    }
}

static int take_samples(struct reader *r, const struct strbuf *message, struct err *err)
{
    struct protobuf p = protobuf_of(message->data, message->size);
    struct sample s = {0};
    struct field f;
    int code = 0;
    while (!code && protobuf_next(&p, &f)) {
        if (f.number == PROFILE_TIME)
            r->time_ns = f.value;
        if (f.number == PROFILE_DURATION)
            r->duration_ns = f.value;
        if (f.number == PROFILE_PERIOD)
            r->period = f.value;
        if (f.number != PROFILE_SAMPLE || !f.bytes)
            continue;
        if (!parse_sample(r, &f, &s)) {
            code = damaged(r, err);
            break;
        }
        uint32_t node = 0;
        for (size_t i = s.locations.count; i-- > 0;) {
            uint32_t at = map_get(&r->locations, s.locations.items[i]);
            if (at == MAP_NONE) {
                code = err_set(err, -EBADMSG, "%s: a sample has a location that is not there",
                               r->m->in->name);
                break;
            }
            node = stacks_node(&r->m->stacks, node, r->location.items[at].run);
        }
        if (!code)
            add_values(r, &s, node);
        if (!code)
            code = import_check(r->m, figures_memory(&r->figures) + message->size, err);
    }
    vec_release(&s.locations);
    return code ? code : p.bad ? damaged(r, err) : 0;
}

/* --- what the profile lacks ------------------------------------------------------------------- */

static uint32_t unknown_of(const struct reader *r)
{
    uint32_t unknown = UNKNOWN_TEMPORARY | UNKNOWN_REALLOCATIONS | UNKNOWN_USABLE |
                       UNKNOWN_LARGEST | UNKNOWN_PROCESS | UNKNOWN_COMMAND | UNKNOWN_LOSSES |
                       UNKNOWN_HISTORY | UNKNOWN_MAPPED | UNKNOWN_PEAK_TIME;
    if (!(r->found & 1u << FIELD_BYTES))
        unknown |= UNKNOWN_TOTALS;
    if (!(r->found & 1u << FIELD_LIVE_BYTES))
        unknown |= UNKNOWN_LIVE;
    if (!(r->found & 1u << FIELD_PEAK_BYTES))
        unknown |= UNKNOWN_PEAK;
    if (!(r->found & 1u << FIELD_OWN_BYTES))
        unknown |= UNKNOWN_OWN_PEAK;
    if (r->found && !(r->found & (1u << FIELD_BLOCKS | 1u << FIELD_LIVE_BLOCKS |
                                  1u << FIELD_PEAK_BLOCKS | 1u << FIELD_OWN_BLOCKS)))
        unknown |= UNKNOWN_COUNTS;
    if (!r->duration_ns)
        unknown |= UNKNOWN_TIME;
    if (!r->cpu)
        unknown |= UNKNOWN_CPU_TIME;
    if (!r->threads.count)
        unknown |= UNKNOWN_THREADS;
    return unknown;
}

static void finish(struct reader *r)
{
    struct profile *p = r->m->profile;
    bool heap = r->found != 0, cpu = r->cpu || r->samples_counted;
    p->start_unix_ns = r->time_ns;
    p->duration_ns = r->duration_ns ? r->duration_ns : 1;
    import_from(r->m, unknown_of(r), "pprof");
    if (cpu)
        p->sampling =
            (struct sampling){.alone = !heap,
                              .cpu_period_ns = !r->cpu              ? 1
                                               : !heap && r->period ? r->period
                                               : r->cpu_samples     ? r->cpu_ns / r->cpu_samples
                                                                    : 1};
    if (cpu && !p->sampling.cpu_period_ns)
        p->sampling.cpu_period_ns = 1;
    if (heap && r->period > 1)
        *vec_push(&p->notes) =
            xasprintf("the program sampled its allocations, one in %llu bytes: all figures are its "
                      "estimates",
                      (unsigned long long)r->period);
    figures_finish(&r->figures);
}

int pprof_import(struct import *m, struct err *err)
{
    struct reader r = {.m = m};
    struct strbuf message = {0};
    figures_init(&r.figures, m);
    import_no_threads(m); /* for samples without a label */
    int code = read_all(&r, &message, err);
    if (!code && !message.size)
        code = err_set(err, -ENODATA, "%s is empty", m->in->name);
    if (!code)
        code = take_tables(&r, &message, err);
    if (!code && !r.found && !r.cpu && !r.samples_counted)
        code = err_set(err, -ENODATA,
                       "%s has neither a heap nor a CPU profile: none of its types of values is "
                       "known",
                       m->in->name);
    if (!code)
        code = take_samples(&r, &message, err);
    if (!code)
        finish(&r);
    figures_release(&r.figures);
    strbuf_release(&message);
    map_release(&r.mappings);
    map_release(&r.functions);
    map_release(&r.locations);
    map_release(&r.threads);
    vec_release(&r.strings);
    vec_release(&r.files);
    vec_release(&r.function);
    vec_release(&r.location);
    return code;
}
