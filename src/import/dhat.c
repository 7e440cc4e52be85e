/*
 * DHAT's JSON: dhat.out of valgrind --tool=dhat, and dhat-heap.json of the Rust crate dhat.
 *
 * For each stack it has what was allocated in all (tb, tbk), live at the stack's own peak (mb,
 * mbk), at the process's peak (gb, gbk) and at the end (eb, ebk). It has no moments in between, no
 * threads, and no times except those of the Rust crate, which are in microseconds; valgrind counts
 * instructions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/figures.h"
#include "import/json_reader.h"
#include "import/valgrind_frame.h"

/* "pps": the numbers of one stack, and its frames, innermost first. */
struct point {
    struct figure figure;
    size_t first, count; /* in reader.frames */
};

struct entry {
    uint32_t run;
    uint64_t address;
};

struct reader {
    struct import *m;
    struct json_reader json;
    VEC(struct point) points;
    VEC(uint32_t) frames; /* numbers in the table */
    VEC(char *) table;    /* "ftbl" */
    uint64_t text;        /* the size of its texts in bytes */
    uint64_t version, end, peak, pid;
    char *mode, *unit, *command;
    bool lives; /* blocks have lifetimes ("bklt"), so there is a peak and an end */
};

bool dhat_is(const char *bytes, size_t size)
{
    size_t at = strspn(bytes, " \t\r\n");
    return at < size && bytes[at] == '{' && strstr(bytes, "\"dhatFileVersion\"");
}

static int check(struct reader *r, struct err *err)
{
    return import_check(r->m,
                        r->points.count * sizeof *r->points.items + r->frames.count * 4 +
                            r->table.count * 48 + r->text,
                        err);
}

static int wrong(const struct reader *r, const char *key, struct err *err)
{
    return err_set(err, -EBADMSG, "%s: '%s' is not what DHAT writes there", r->m->in->name, key);
}

/* "fs":[1,2,3] */
static int take_frames(struct reader *r, struct point *p, struct err *err)
{
    int token = json_next(&r->json, err);
    p->first = r->frames.count;
    if (token >= 0 && token != JSON_ARRAY)
        return wrong(r, "fs", err);
    while (token >= 0 && (token = json_next(&r->json, err)) == JSON_NUMBER) {
        if (r->json.number > UINT32_MAX || r->frames.count - p->first > IMPORT_DEPTH)
            return wrong(r, "fs", err);
        *vec_push(&r->frames) = (uint32_t)r->json.number;
    }
    p->count = r->frames.count - p->first;
    return token < 0 ? token : token == JSON_CLOSE ? check(r, err) : wrong(r, "fs", err);
}

static uint64_t *figure_named(struct figure *f, const char *key)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {
        {"tb", offsetof(struct figure, bytes)},      {"tbk", offsetof(struct figure, blocks)},
        {"mb", offsetof(struct figure, own_bytes)},  {"mbk", offsetof(struct figure, own_blocks)},
        {"gb", offsetof(struct figure, peak_bytes)}, {"gbk", offsetof(struct figure, peak_blocks)},
        {"eb", offsetof(struct figure, live_bytes)}, {"ebk", offsetof(struct figure, live_blocks)}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].key, key) == 0)
            return (uint64_t *)(void *)((char *)f + keys[i].offset);
    return NULL;
}

static int take_point(struct reader *r, struct err *err)
{
    struct point p = {0};
    int token;
    while ((token = json_next(&r->json, err)) == JSON_KEY) {
        uint64_t *number = figure_named(&p.figure, r->json.text.data);
        int code;
        if (strcmp(r->json.text.data, "fs") == 0) {
            code = take_frames(r, &p, err);
        } else {
            token = json_next(&r->json, err);
            code = token < 0                        ? token
                   : number && token != JSON_NUMBER ? wrong(r, "pps", err)
                                                    : json_skip(&r->json, token, err);
            if (number)
                *number = r->json.number;
        }
        if (code)
            return code;
    }
    *vec_push(&r->points) = p;
    return token < 0 ? token : token == JSON_CLOSE ? check(r, err) : wrong(r, "pps", err);
}

static int take_points(struct reader *r, struct err *err)
{
    int token = json_next(&r->json, err), code = 0;
    if (token >= 0 && token != JSON_ARRAY)
        return wrong(r, "pps", err);
    while (!code && token >= 0 && (token = json_next(&r->json, err)) == JSON_OBJECT)
        code = take_point(r, err);
    return code ? code : token < 0 ? token : token == JSON_CLOSE ? 0 : wrong(r, "pps", err);
}

static int take_table(struct reader *r, struct err *err)
{
    int token = json_next(&r->json, err), code = 0;
    if (token >= 0 && token != JSON_ARRAY)
        return wrong(r, "ftbl", err);
    while (!code && token >= 0 && (token = json_next(&r->json, err)) == JSON_STRING) {
        *vec_push(&r->table) = xstrdup(r->json.text.data);
        r->text += r->json.text.size;
        code = check(r, err);
    }
    return code ? code : token < 0 ? token : token == JSON_CLOSE ? 0 : wrong(r, "ftbl", err);
}

static void keep(char **where, const struct json_reader *json)
{
    free(*where);
    *where = xstrdup(json->text.data);
}

static int take_member(struct reader *r, struct err *err)
{
    char key[16] = {0};
    strncpy(key, r->json.text.data, sizeof key - 1);
    if (strcmp(key, "pps") == 0)
        return take_points(r, err);
    if (strcmp(key, "ftbl") == 0)
        return take_table(r, err);
    int token = json_next(&r->json, err);
    uint64_t *number = text_begins(key, "dhatFileVersion") ? &r->version
                       : strcmp(key, "te") == 0            ? &r->end
                       : strcmp(key, "tg") == 0            ? &r->peak
                       : strcmp(key, "pid") == 0           ? &r->pid
                                                           : NULL;
    char **text = strcmp(key, "mode") == 0  ? &r->mode
                  : strcmp(key, "tu") == 0  ? &r->unit
                  : strcmp(key, "cmd") == 0 ? &r->command
                                            : NULL;
    if (token < 0)
        return token;
    if (number && token != JSON_NUMBER)
        return wrong(r, key, err);
    if (number)
        *number = r->json.number;
    if (text && token == JSON_STRING)
        keep(text, &r->json);
    if (strcmp(key, "bklt") == 0)
        r->lives = token == JSON_WORD && strcmp(r->json.text.data, "true") == 0;
    return json_skip(&r->json, token, err);
}

/* If two neighbouring entries have the same address, the inner one was inlined. */
static int add_points(struct reader *r, struct figures *f, struct err *err)
{
    struct entry *entries = xcalloc(r->table.count + 1, sizeof *entries);
    struct frame *frames = xcalloc(r->table.count + 1, sizeof *frames);
    struct profile *p = r->m->profile;
    int code = 0;
    for (size_t i = 0; i < r->table.count; i++) {
        const struct imported_frame frame = valgrind_frame(r->table.items[i], &entries[i].address);
        frames[i] = stacks_make(&r->m->stacks, &frame);
        entries[i].run = stacks_run(&r->m->stacks, &frames[i], 1);
    }
    for (size_t i = 0; i < r->points.count && !code; i++) {
        const struct point *point = &r->points.items[i];
        uint32_t node = 0;
        for (size_t k = point->count; k-- > 0 && !code;) {
            uint32_t number = r->frames.items[point->first + k];
            uint32_t outer = k + 1 < point->count ? r->frames.items[point->first + k + 1] : number;
            if (number >= r->table.count) {
                code = err_set(err, -EBADMSG, "%s: a stack has frame %" PRIu32 " of %zu",
                               r->m->in->name, number, r->table.count);
                break;
            }
            uint32_t run = entries[number].run;
            if (outer != number && entries[outer].address &&
                entries[outer].address == entries[number].address) {
                struct frame inlined = frames[number];
                inlined.kind = FRAME_INLINED;
                run = stacks_run(&r->m->stacks, &inlined, 1);
            }
            node = stacks_node(&r->m->stacks, node, run);
        }
        p->peak_bytes += point->figure.peak_bytes;
        p->peak_blocks += point->figure.peak_blocks;
        if (!code)
            figures_add(f, figures_site(f, node, 0, DOMAIN_HEAP), &point->figure);
        if (!code)
            code = import_check(r->m, figures_memory(f), err);
    }
    free(entries);
    free(frames);
    return code;
}

static int fill(struct reader *r, struct err *err)
{
    struct profile *p = r->m->profile;
    struct figures f;
    bool timed = r->unit && strcmp(r->unit, "\xc2\xb5s") == 0; /* microseconds */
    uint32_t unknown = UNKNOWN_THREADS | UNKNOWN_TEMPORARY | UNKNOWN_REALLOCATIONS |
                       UNKNOWN_USABLE | UNKNOWN_LARGEST | UNKNOWN_LOSSES | UNKNOWN_HISTORY |
                       UNKNOWN_MAPPED;
    if (!r->mode || strcmp(r->mode, "heap") != 0)
        return err_set(err, -EBADMSG, "%s has DHAT's mode '%s'; only 'heap' has allocations",
                       r->m->in->name, r->mode ? r->mode : "?");
    if (!r->lives)
        unknown |= UNKNOWN_LIVE | UNKNOWN_PEAK | UNKNOWN_OWN_PEAK;
    if (!timed || r->end > UINT64_MAX / 1000 || r->peak > r->end)
        unknown |= UNKNOWN_TIME | UNKNOWN_PEAK_TIME;
    if (!r->pid)
        unknown |= UNKNOWN_PROCESS;
    if (!r->command || !*r->command)
        unknown |= UNKNOWN_COMMAND;
    import_from(r->m, unknown, timed ? "dhat-rs" : "DHAT");
    import_no_threads(r->m);
    if (r->command)
        import_command(r->m, r->command);
    p->pid = (uint32_t)r->pid;
    p->duration_ns = timed ? r->end * 1000 : 1;
    p->peak_time_ns = timed ? r->peak * 1000 : 1;
    figures_init(&f, r->m);
    int code = add_points(r, &f, err);
    if (!code)
        figures_finish(&f);
    figures_release(&f);
    return code;
}

int dhat_import(struct import *m, struct err *err)
{
    struct reader r = {.m = m};
    json_reader_init(&r.json, m->in);
    int token = json_next(&r.json, err), code = 0;
    if (token >= 0 && token != JSON_OBJECT)
        code = wrong(&r, "{", err);
    while (!code && token >= 0 && (token = json_next(&r.json, err)) == JSON_KEY)
        code = take_member(&r, err);
    if (!code && token >= 0) /* the object was closed */
        token = json_next(&r.json, err);
    if (!code)
        code = token < 0 ? token : 0;
    if (!code && (r.version < 1 || r.version > 2))
        code =
            err_set(err, -EBADMSG, "%s has version %" PRIu64 " of DHAT's format; 1 and 2 are known",
                    m->in->name, r.version);
    if (!code)
        code = fill(&r, err);
    for (size_t i = 0; i < r.table.count; i++)
        free(r.table.items[i]);
    vec_release(&r.table);
    vec_release(&r.points);
    vec_release(&r.frames);
    free(r.mode);
    free(r.unit);
    free(r.command);
    json_reader_release(&r.json);
    return code;
}
