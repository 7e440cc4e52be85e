#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

int import_check(const struct import *m, uint64_t other, struct err *err)
{
    uint64_t most = IMPORT_FREE + IMPORT_RATIO * m->in->taken;
    if (m->stacks.memory + other <= most)
        return 0;
    return err_set(err, -E2BIG,
                   "%s unpacks to far more than its size explains; it is damaged or hostile",
                   m->in->name);
}

int import_bad_line(const struct import *m, const char *why, struct err *err)
{
    return err_set(err, -EBADMSG, "%s: line %" PRIu64 ": %s", m->in->name, m->in->line_number, why);
}

void import_from(struct import *m, uint32_t unknown, const char *format, ...)
{
    struct imported *i = &m->profile->imported;
    va_list values;
    free(i->from);
    va_start(values, format);
    if (vasprintf(&i->from, format, values) < 0)
        i->from = NULL;
    va_end(values);
    i->from = must_alloc(i->from);
    i->unknown = unknown;
}

void import_command(struct import *m, const char *text)
{
    struct profile *p = m->profile;
    for (const char *at = text; *at;) {
        at += strspn(at, " \t");
        size_t size = strcspn(at, " \t");
        if (size)
            *vec_push(&p->command) = xstrndup(at, size);
        at += size;
    }
    if (p->command.count) {
        free(p->executable);
        p->executable = xstrdup(p->command.items[0]);
    }
}

void import_no_threads(struct import *m)
{
    *vec_push(&m->profile->threads) = (struct thread){.name = xstrdup("")};
}

void import_scan(struct import *m, const struct import_live *live, size_t count)
{
    struct profile *p = m->profile;
    struct scan *s = vec_push(&p->scans);
    *s = (struct scan){.kind = SCAN_END,
                       .time_ns = p->duration_ns,
                       .intervals = p->intervals.count,
                       .first_row = p->live.count};
    s->unreachable = xasprintf("%s does not know what pointed to them", p->imported.from);
    for (size_t i = 0; i < count && p->intervals.count; i++)
        if (live[i].bytes || live[i].blocks)
            *vec_push(&p->live) = (struct live_row){.site = (uint32_t)i,
                                                    .interval = (uint32_t)p->intervals.count - 1,
                                                    .blocks = live[i].blocks,
                                                    .bytes = live[i].bytes,
                                                    .usable = live[i].bytes};
    s->row_count = p->live.count - s->first_row;
}

static bool number_in(const char **at, int base, uint64_t *out)
{
    char *end;
    if (!strchr(base == 16 ? "0123456789abcdefABCDEF" : "0123456789", **at) || !**at)
        return false;
    errno = 0;
    *out = strtoull(*at, &end, base);
    if (errno)
        return false;
    *at = end;
    return true;
}

bool import_number(const char **at, uint64_t *out)
{
    return number_in(at, 10, out);
}

bool import_hex(const char **at, uint64_t *out)
{
    return number_in(at, 16, out);
}

static void write_recording(const struct import *m, struct strbuf *out)
{
    const struct strbuf **rows = xmalloc((m->packed.count + 1) * sizeof *rows);
    for (size_t i = 0; i < m->packed.count; i++)
        rows[i] = &m->packed.items[i];
    const struct packed_figures packed = {rows, m->packed_counts.items};
    writer_begin(out);
    writer_profile(out, 0, m->profile, m->packed.count ? &packed : NULL);
    writer_end(out, m->recording);
    free(rows);
}

int import_take(const struct import_request *q, struct input *in,
                const struct import_format *format, struct strbuf *out, struct err *err)
{
    struct import m = {
        .request = q, .in = in, .file = path_base(in->name), .recording = recording_new()};
    m.profile = vec_push(&m.recording->profiles);
    *m.profile = (struct profile){.exit_code = -1, .complete = true, .host = xstrdup("")};
    m.recording->complete = true;
    stacks_init(&m.stacks, m.recording, m.profile);
    int code = format->read(&m, err);
    if (!code) {
        if (!m.profile->executable)
            m.profile->executable = xstrdup("");
        m.profile->imported.file = xstrdup(m.file);
        write_recording(&m, out);
    }
    for (size_t i = 0; i < m.packed.count; i++)
        strbuf_release(&m.packed.items[i]);
    vec_release(&m.packed);
    vec_release(&m.packed_counts);
    stacks_release(&m.stacks);
    recording_free(m.recording);
    return code;
}

/* Guesses the format from the first bytes. */
static int guess(struct input *in, const struct import_format **format, struct err *err)
{
    const uint8_t *bytes;
    int64_t n = input_peek(in, &bytes, err);
    if (n < 0)
        return (int)n;
    if (n == 0)
        return err_set(err, -ENODATA, "%s is empty", in->name);
    if (n >= 8 && memcmp(bytes, "tidemark", 8) == 0)
        return err_set(err, -EBADMSG, "%s is already a tidemark recording", in->name);
    char *text = xmalloc((size_t)n + 1);
    memcpy(text, bytes, (size_t)n);
    text[n] = '\0';
    *format = NULL;
    for (size_t i = 0; i < IMPORT_FORMATS && !*format; i++)
        if (import_formats[i].is(text, (size_t)n))
            *format = &import_formats[i];
    free(text);
    if (*format)
        return 0;
    struct strbuf names = {0};
    import_format_names(&names);
    err_set(err, -EBADMSG, "%s has none of the formats that are known (%s); --format names one",
            in->name, names.data);
    strbuf_release(&names);
    return -EBADMSG;
}

int import_read(const struct import_request *q, struct strbuf *out,
                const struct import_format **format, struct err *err)
{
    struct input in;
    int code = input_open(&in, q->path, err);
    if (code)
        return code;
    in.progress = q->progress;
    in.context = q->context;
    *format = q->format ? import_format_named(q->format) : NULL;
    if (!*format)
        code = guess(&in, format, err);
    if (!code)
        code = import_take(q, &in, *format, out, err);
    input_release(&in);
    return code;
}
