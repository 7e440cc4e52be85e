#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "store/captures.h"
#include "store/chain_rows.h"
#include "store/chunk.h"
#include "store/footprints.h"
#include "store/histograms.h"
#include "store/living.h"
#include "store/python_part.h"
#include "store/rows.h"

#define PROCESSES_MAX 1000000 /* more in one file is damage */
#define DEFAULTS_MAX  100

static void take_process(struct cursor *c, struct profile *p)
{
    p->pid = (uint32_t)cursor_varint(c);
    p->ppid = (uint32_t)cursor_varint(c);
    for (uint64_t n = cursor_count(c, 1); n > 0; n--)
        *vec_push(&p->command) = cursor_string(c);
    free(p->executable);
    p->executable = cursor_string(c);
    free(p->host);
    p->host = cursor_string(c);
    p->start_unix_ns = cursor_varint(c);
    p->duration_ns = cursor_varint(c);
    p->exit_code = (int)unzigzag(cursor_varint(c));
    p->signal = (int)cursor_varint(c) & 0xff;
    uint64_t flags = cursor_varint(c);
    p->complete = flags & 1;
    p->execed = flags >> 1 & 1;
    p->peak_bytes = cursor_varint(c);
    p->peak_blocks = cursor_varint(c);
    p->peak_time_ns = cursor_varint(c);
    p->peak_skew_bytes = cursor_varint(c);
}

static void take_modules(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_count(c, 6); n > 0 && !c->bad; n--) {
        struct module *m = vec_push(&p->modules);
        *m = (struct module){.start = cursor_varint(c)};
        m->end = m->start + cursor_varint(c);
        m->bias = m->start - (uint64_t)unzigzag(cursor_varint(c));
        m->epoch = (uint32_t)cursor_varint(c);
        m->path = cursor_string(c);
        uint64_t size = cursor_count(c, 1);
        if (size > sizeof m->build_id) {
            c->bad = true;
            return;
        }
        m->build_id_size = (uint32_t)size;
        memcpy(m->build_id, c->at, size);
        c->at += size;
    }
}

static void take_nodes(struct cursor *c, struct profile *p)
{
    VEC(uint64_t) addresses = {0};
    uint64_t address = 0;
    for (uint64_t n = cursor_count(c, 1); n > 0; n--)
        *vec_push(&addresses) = address += cursor_varint(c);
    uint64_t n = cursor_count(c, 2);
    vec_reserve(&p->nodes, n + 1);
    *vec_push(&p->nodes) = (struct node){0};
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t up = cursor_varint(c);
        if (up == 0 || up > i) /* a parent comes before its child: no cycles */
            c->bad = true;
        *vec_push(&p->nodes) = (struct node){.parent = c->bad ? 0 : (uint32_t)(i - up)};
    }
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t place = cursor_varint(c);
        if (place >= addresses.count)
            c->bad = true;
        else
            p->nodes.items[i].address = addresses.items[place];
    }
    vec_release(&addresses);
}

static void take_threads(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_count(c, 4); n > 0 && !c->bad; n--) {
        struct thread *t = vec_push(&p->threads);
        *t = (struct thread){.tid = (uint32_t)cursor_varint(c)};
        t->name = cursor_string(c);
        t->start_ns = cursor_varint(c);
        t->end_ns = cursor_varint(c);
    }
}

#define TAKE_COLUMN(c, items, n, field)                                                            \
    for (uint64_t i = 0; i < (n); i++)                                                             \
    (items)[i].field = cursor_varint(c)

static void take_sites(struct cursor *c, struct profile *p)
{
    uint64_t n = cursor_count(c, 11);
    vec_reserve(&p->sites, n);
    if (n)
        memset(p->sites.items, 0, n * sizeof *p->sites.items);
    p->sites.count = n;
    struct site *s = p->sites.items;
    uint64_t previous = 0;
    for (uint64_t i = 0; i < n; i++)
        s[i].node = (uint32_t)(previous += (uint64_t)unzigzag(cursor_varint(c)));
    for (uint64_t i = 0; i < n; i++)
        s[i].thread = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < n; i++)
        s[i].domain = (uint32_t)cursor_varint(c);
    TAKE_COLUMN(c, s, n, unit_bytes);
    TAKE_COLUMN(c, s, n, unit_usable);
    TAKE_COLUMN(c, s, n, at_peak_blocks);
    TAKE_COLUMN(c, s, n, at_peak_bytes);
    TAKE_COLUMN(c, s, n, at_peak_usable);
    TAKE_COLUMN(c, s, n, own_peak_blocks);
    TAKE_COLUMN(c, s, n, own_peak_bytes);
    for (uint64_t i = 0; i < n; i++) {
        s[i].unit_usable += s[i].unit_bytes;
        s[i].at_peak_usable += s[i].at_peak_bytes;
        s[i].largest_bytes = s[i].unit_bytes + (uint64_t)unzigzag(cursor_varint(c));
        if (s[i].node >= p->nodes.count || s[i].thread >= p->threads.count ||
            s[i].domain >= DOMAIN_COUNT)
            c->bad = true;
    }
}

static void take_intervals(struct cursor *c, struct profile *p)
{
    uint64_t n = cursor_count(c, 7), end = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct interval *v = vec_push(&p->intervals);
        *v = (struct interval){.end_ns = end += cursor_varint(c)};
        v->peak_bytes = cursor_varint(c);
        v->unknown_frees = cursor_varint(c);
        v->lost_events = cursor_varint(c);
        v->truncated_stacks = cursor_varint(c);
        v->incomplete_stacks = cursor_varint(c);
        v->row_count = cursor_count(c, 2);
    }
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct interval *v = &p->intervals.items[i];
        uint32_t previous = UINT32_MAX;
        v->first_row = p->rows.count;
        for (size_t k = 0; k < v->row_count; k++) {
            struct row row;
            if (!row_take(c, &previous, &row, p->sites.items, p->sites.count)) {
                v->row_count = k;
                break;
            }
            *vec_push(&p->rows) = row;
        }
    }
    if (c->bad) /* intervals whose rows were not reached have none */
        for (size_t i = 0; i < p->intervals.count; i++)
            if (p->intervals.items[i].first_row + p->intervals.items[i].row_count > p->rows.count)
                p->intervals.items[i].row_count = 0;
}

/* *s is the one before. */
static void take_stamp(struct cursor *c, struct stamp *s)
{
    uint64_t *field = (uint64_t *)s;
    for (size_t k = 0; k < sizeof *s / 8; k++)
        field[k] += (uint64_t)unzigzag(cursor_varint(c));
}

static void take_stamps(struct cursor *c, struct profile *p)
{
    struct stamp s = {0};
    for (uint64_t n = cursor_count(c, sizeof s / 8); n > 0 && !c->bad; n--) {
        take_stamp(c, &s);
        *vec_push(&p->stamps) = s;
    }
}

static void take_marks(struct cursor *c, struct profile *p)
{
    struct mark m = {0};
    for (uint64_t n = cursor_count(c, 3 + sizeof m.stamp / 8); n > 0 && !c->bad; n--) {
        m.label = (uint32_t)cursor_varint(c);
        m.thread = (uint32_t)cursor_varint(c);
        m.intervals += cursor_varint(c);
        take_stamp(c, &m.stamp);
        if (m.intervals > p->intervals.count || m.thread >= p->threads.count)
            c->bad = true;
        else
            *vec_push(&p->marks) = m;
    }
    for (uint64_t n = cursor_count(c, 10); n > 0 && !c->bad; n--) {
        struct mark_value v = {.mark = (uint32_t)cursor_varint(c),
                               .key = (uint32_t)cursor_varint(c)};
        if (v.mark >= p->marks.count || (size_t)(c->end - c->at) < sizeof v.value) {
            c->bad = true;
            return;
        }
        memcpy(&v.value, c->at, sizeof v.value);
        c->at += sizeof v.value;
        *vec_push(&p->mark_values) = v;
    }
}

static void take_inherited(struct cursor *c, struct profile *p)
{
    p->inherited.parent = (uint32_t)cursor_varint(c);
    p->inherited.blocks = cursor_varint(c);
    p->inherited.bytes = cursor_varint(c);
    p->inherited.freed_blocks = cursor_varint(c);
    p->inherited.freed_bytes = cursor_varint(c);
}

static void take_sampling(struct cursor *c, struct profile *p)
{
    struct sampling *g = &p->sampling;
    uint64_t flags = cursor_varint(c);
    g->alone = flags & 1;
    g->counted = flags >> 1 & 1;
    g->wall = flags >> 2 & 1;
    g->cpu_period_ns = cursor_varint(c);
    g->fault_period = cursor_varint(c);
    g->lost = cursor_varint(c);
    g->user_ns = cursor_varint(c);
    g->system_ns = cursor_varint(c);
    g->minor_faults = cursor_varint(c);
    g->major_faults = cursor_varint(c);
}

static void take_notes(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_count(c, 1); n > 0; n--)
        *vec_push(&p->notes) = cursor_string(c);
}

static void take_frames(struct cursor *c, struct profile *p)
{
    uint64_t runs = cursor_count(c, 2), address = 0, total = 0;
    for (uint64_t i = 0; i < runs; i++)
        *map_at(&p->symbols, address += (uint64_t)unzigzag(cursor_varint(c))) = (uint32_t)i;
    *vec_push(&p->frame_runs) = 0;
    for (uint64_t i = 0; i < runs; i++) {
        total += cursor_varint(c);
        if (total > (uint64_t)(c->end - c->at)) {
            c->bad = true;
            total = 0;
        }
        *vec_push(&p->frame_runs) = (uint32_t)total;
    }
    vec_reserve(&p->frames, total);
    p->frames.count = total;
    struct frame *f = p->frames.items;
    for (uint64_t i = 0; i < total; i++)
        f[i].function = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].module = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].file = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].line = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].kind = (enum frame_kind)(cursor_varint(c) % 3);
}

static void take_strings(struct cursor *c, struct recording *r)
{
    for (uint64_t n = cursor_count(c, 1); n > 0 && !c->bad; n--) {
        char *s = cursor_string(c);
        strpool_add(&r->strings, s); /* numbers are their order: the writer has no string twice */
        free(s);
    }
}

static int by_epoch(const void *a, const void *b)
{
    const struct module *x = a, *y = b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* After damage in one of a profile's chunks: nothing in it may point nowhere. */
static void make_consistent(struct profile *p, struct recording *r)
{
    if (!p->nodes.count)
        *vec_push(&p->nodes) = (struct node){0};
    if (!p->frame_runs.count)
        *vec_push(&p->frame_runs) = 0;
    for (size_t i = 0; i + 1 < p->frame_runs.count; i++)
        if (p->frame_runs.items[i + 1] < p->frame_runs.items[i])
            p->frame_runs.items[i + 1] = p->frame_runs.items[i];
    for (size_t i = 0; i < p->frame_runs.count; i++)
        if (p->frame_runs.items[i] > p->frames.count)
            p->frame_runs.items[i] = (uint32_t)p->frames.count;
    if (p->modules.count)
        qsort(p->modules.items, p->modules.count, sizeof *p->modules.items, by_epoch);
    size_t strings = r->strings.strings.count;
    for (size_t i = 0; i < p->frames.count; i++) {
        struct frame *f = &p->frames.items[i];
        if (f->function >= strings)
            f->function = 0;
        if (f->module >= strings)
            f->module = 0;
        if (f->file >= strings)
            f->file = 0;
    }
    for (size_t i = 0; i < p->marks.count; i++) {
        struct mark *m = &p->marks.items[i];
        m->label = m->label < strings ? m->label : 0;
        m->name = strpool_get(&r->strings, m->label);
    }
    for (size_t i = 0; i < p->mark_values.count; i++)
        if (p->mark_values.items[i].key >= strings)
            p->mark_values.items[i].key = 0;
    for (size_t i = 0; i < p->sites.count; i++) {
        struct site *s = &p->sites.items[i];
        if (s->node >= p->nodes.count || s->domain >= DOMAIN_COUNT)
            s->node = s->domain = 0;
        if (s->thread >= p->threads.count) {
            if (!p->threads.count)
                *vec_push(&p->threads) = (struct thread){.name = xstrdup("unknown")};
            s->thread = 0;
        }
    }
}

static void take_defaults(struct cursor *c, struct recording *r)
{
    uint64_t n = cursor_count(c, 3);
    for (c->bad |= n > DEFAULTS_MAX; n > 0 && !c->bad; n--) {
        uint64_t kind = cursor_varint(c);
        char *name = cursor_string(c), *text = cursor_string(c);
        if (c->bad || kind >= DEFAULT_KINDS) { /* of a later version: skipped */
            free(name);
            free(text);
            continue;
        }
        *vec_push(&r->defaults) = (struct recorded_default){(enum default_kind)kind, name, text};
    }
}

static void take_chunk(const struct chunk *chunk, struct cursor *c, struct recording *r)
{
    if (chunk->type == CHUNK_STRINGS) {
        take_strings(c, r);
        return;
    }
    if (chunk->type == CHUNK_DEFAULTS) {
        if (!r->defaults.count)
            take_defaults(c, r);
        return;
    }
    if (chunk->process > r->profiles.count || chunk->process > PROCESSES_MAX) {
        c->bad = true;
        return;
    }
    if (chunk->process == r->profiles.count)
        *vec_push(&r->profiles) = (struct profile){.exit_code = -1};
    struct profile *p = &r->profiles.items[chunk->process];
    switch (chunk->type) {
    case CHUNK_PROCESS:
        take_process(c, p);
        break;
    case CHUNK_MODULES:
        take_modules(c, p);
        break;
    case CHUNK_NODES:
        if (!p->nodes.count)
            take_nodes(c, p);
        break;
    case CHUNK_THREADS:
        if (!p->threads.count)
            take_threads(c, p);
        break;
    case CHUNK_SITES:
        if (!p->sites.count)
            take_sites(c, p);
        break;
    case CHUNK_INTERVALS:
        if (!p->intervals.count)
            take_intervals(c, p);
        break;
    case CHUNK_STAMPS:
        take_stamps(c, p);
        break;
    case CHUNK_MARKS:
        if (!p->marks.count)
            take_marks(c, p);
        break;
    case CHUNK_INHERITED:
        take_inherited(c, p);
        break;
    case CHUNK_SAMPLING:
        take_sampling(c, p);
        break;
    case CHUNK_LIVE:
        if (!p->scans.count)
            living_take(c, p);
        break;
    case CHUNK_MAPS:
        if (!p->captures.count)
            captures_take(c, p);
        break;
    case CHUNK_FOOTPRINTS:
        if (!p->footprints.count)
            footprints_take(c, p);
        break;
    case CHUNK_PYTHON:
        if (!p->arenas.count)
            python_take(c, p);
        break;
    case CHUNK_HISTOGRAMS:
        if (!p->has_histograms)
            histograms_take(c, p);
        break;
    case CHUNK_CHAINS:
        if (!p->chains.count)
            chain_rows_take(c, p);
        break;
    case CHUNK_NOTES:
        take_notes(c, p);
        break;
    case CHUNK_FRAMES:
        if (!p->frame_runs.count)
            take_frames(c, p);
        break;
    default:
        break; /* from a later version: skipped */
    }
}

static bool is_known(uint32_t type)
{
    switch (type) {
    case CHUNK_PROCESS:
    case CHUNK_MODULES:
    case CHUNK_NODES:
    case CHUNK_THREADS:
    case CHUNK_SITES:
    case CHUNK_INTERVALS:
    case CHUNK_STAMPS:
    case CHUNK_MARKS:
    case CHUNK_INHERITED:
    case CHUNK_SAMPLING:
    case CHUNK_LIVE:
    case CHUNK_MAPS:
    case CHUNK_FOOTPRINTS:
    case CHUNK_PYTHON:
    case CHUNK_HISTOGRAMS:
    case CHUNK_CHAINS:
    case CHUNK_NOTES:
    case CHUNK_DEFAULTS:
    case CHUNK_STRINGS:
    case CHUNK_FRAMES:
        return true;
    default:
        return false;
    }
}

/* What a file is that is not a recording, where its first bytes tell. */
static int refuse(const char *first, size_t size, const char *name, struct err *err)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *how, *with;
    } packed[] = {{"\x1f\x8b", 2, "gzip", "gzip -dc"},
                  {"\x28\xb5\x2f\xfd", 4, "zstd", "zstd -dc"},
                  {"\xfd"
                   "7zXZ",
                   5, "xz", "xz -dc"},
                  {"BZh", 3, "bzip2", "bzip2 -dc"}};
    if (size == 0)
        return err_set(err, -EBADMSG, "%s is empty, not a tidemark recording", name);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (size >= packed[i].size && memcmp(first, packed[i].magic, packed[i].size) == 0)
            return err_set(err, -EBADMSG, "%s is compressed with %s; unpack it first: %s %s", name,
                           packed[i].how, packed[i].with, name);
    if (size < FILE_HEADER && memcmp(first, FILE_MAGIC, size < 8 ? size : 8) == 0)
        return err_set(err, -EBADMSG, "%s is a tidemark recording cut at byte %zu: nothing is left",
                       name, size);
    return err_set(err, -EBADMSG, "%s is not a tidemark recording", name);
}

static int take_header(struct chunk_source *s, const char *name, struct err *err)
{
    uint32_t version;
    int64_t n = chunk_source_take(s, FILE_HEADER);
    if (n < 0)
        return err_set(err, (int)n, "cannot read %s: %s", name, strerror((int)-n));
    if (n < FILE_HEADER || memcmp(s->held.data, FILE_MAGIC, 8) != 0)
        return refuse(s->held.data, (size_t)n, name, err);
    memcpy(&version, s->held.data + 8, 4);
    if (version != FILE_VERSION)
        return err_set(err, -EBADMSG, "%s has format version %u; this tidemark reads version %d",
                       name, version, FILE_VERSION);
    return 0;
}

/* Chunk after chunk up to the end or the first damage: 0, or negative and a sentence. */
static int take_chunks(struct chunk_source *s, struct recording *r, struct err *damage)
{
    struct strbuf raw = {0};
    uint64_t unpacked = 0;
    int status;
    struct chunk chunk;
    while ((status = chunk_next(s, &chunk, damage)) > 0) {
        if (chunk.type == CHUNK_DONE) {
            r->complete = true;
            continue;
        }
        if (!is_known(chunk.type))
            continue;
        unpacked += chunk.raw;
        status = unpacked > CHUNKS_RAW_FREE + s->offset * CHUNK_RATIO
                     ? err_set(damage, -EBADMSG, "the file unpacks to more than it can hold")
                     : chunk_unpack(&chunk, &raw, damage);
        if (status)
            break;
        struct cursor c = {.at = (const uint8_t *)raw.data,
                           .end = (const uint8_t *)raw.data + raw.size};
        take_chunk(&chunk, &c, r);
        if (c.bad) {
            status = err_set(damage, -EBADMSG, "a chunk before byte %llu makes no sense",
                             (unsigned long long)s->offset);
            break;
        }
    }
    strbuf_release(&raw);
    return status;
}

static int parse(struct chunk_source *s, const char *name, struct recording **out, struct err *err)
{
    struct err damage;
    int status = take_header(s, name, err);
    if (status)
        return status;
    struct recording *r = recording_new();
    if (take_chunks(s, r, &damage) < 0) {
        r->complete = false;
        r->incomplete = xasprintf("%s; what came before it is shown", damage.text);
    } else if (!r->complete) {
        r->incomplete = xstrdup("the file has no end mark: recording was cut short");
    }
    if (!r->profiles.count) {
        recording_free(r);
        return err_set(err, -EBADMSG, "%s holds no whole profile", name);
    }
    for (size_t i = 0; i < r->profiles.count; i++)
        make_consistent(&r->profiles.items[i], r);
    *out = r;
    return 0;
}

int recording_parse(const void *bytes, size_t size, const char *name, struct recording **out,
                    struct err *err)
{
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(bytes, size);
    int status = parse(&source, name, out, err);
    chunk_source_release(&source);
    return status;
}

/* Snapshots and recordings that were piped through it are read as they are. */
static bool is_gzip(int fd)
{
    uint8_t magic[2];
    return pread(fd, magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f &&
           magic[1] == 0x8b;
}

static gzFile open_gzip(int fd)
{
    int own = dup(fd); /* zlib closes it */
    gzFile gz = own >= 0 ? gzdopen(own, "rb") : NULL;
    if (!gz && own >= 0)
        close(own);
    return gz;
}

int recording_read(const char *path, struct recording **out, struct err *err)
{
    /* Not blocking: a FIFO that nobody writes to would hold us up before we know what it is. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    struct chunk_source source = {.fd = fd};
    struct stat st;
    int status;
    if (fstat(fd, &st) || fcntl(fd, F_SETFL, 0))
        status = err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        status = err_set(err, -EISDIR, "%s is a folder, not a tidemark recording", path);
    else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        status = err_set(err, -EBADMSG, "%s is a device, not a tidemark recording", path);
    else if (S_ISREG(st.st_mode) && is_gzip(fd) && !(source.gz = open_gzip(fd)))
        status = err_set(err, -ENOMEM, "cannot unpack %s", path);
    else
        status = parse(&source, path, out, err);
    if (source.gz)
        gzclose(source.gz);
    chunk_source_release(&source);
    close(fd);
    return status;
}
