#include "model/mapped_by.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "model/frames.h"

#define LEAST_BYTES ((uint64_t)8 << 20)
#define LEAST_SHARE 4 /* a quarter of resident memory */
/* The footprint is of another moment. Mappings that exceed what is resident beside the rest by no
 * more than this factor count as resident. */
#define SLACK 1.1
/* A footprint with this share of the highest resident memory is used instead of a stamp. */
#define NEAR_SHARE 0.95

static const struct stamp *highest_stamp(const struct profile *p)
{
    const struct stamp *best = NULL;
    for (size_t i = 0; i < p->stamps.count; i++)
        if (!best || p->stamps.items[i].rss_bytes > best->rss_bytes)
            best = &p->stamps.items[i];
    for (size_t i = 0; i < p->marks.count; i++)
        if (!best || p->marks.items[i].stamp.rss_bytes > best->rss_bytes)
            best = &p->marks.items[i].stamp;
    return best;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static const struct footprint *nearest_footprint(const struct profile *p, uint64_t time_ns)
{
    const struct footprint *best = NULL;
    for (size_t i = 0; i < p->footprints.count; i++) {
        const struct footprint *f = &p->footprints.items[i];
        if (!best || apart(f->time_ns, time_ns) < apart(best->time_ns, time_ns))
            best = f;
    }
    return best;
}

/* Anonymous memory that the program did not map itself: the heap, with what its allocator keeps,
 * stacks, data of libraries, the recorder's own. */
static uint64_t not_mapped(const struct profile *p, const struct stamp *s)
{
    static const enum footprint_part others[] = {PART_STACKS, PART_DATA, PART_RECORDER, PART_ARENAS,
                                                 PART_UNKNOWN};
    const struct footprint *f = nearest_footprint(p, s->time_ns);
    if (!f)
        return s->live_bytes;
    /* Blocks that were live at one of the two moments may be free at the other. */
    uint64_t heap =
        f->parts[PART_LIVE] + f->parts[PART_ROUNDING] + f->parts[PART_HELD] + f->parts[PART_FREE];
    uint64_t bytes = heap > s->live_bytes ? heap : s->live_bytes;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        bytes += f->parts[others[i]];
    return bytes;
}

/* The highest footprint that counted such memory, if it is nearly as high as the highest stamp. It
 * knows that written pages of files, which are anonymous too, are no memory of this kind. */
static const struct footprint *counted_at(const struct profile *p, const struct stamp *s)
{
    const struct footprint *best = NULL;
    for (size_t i = 0; i < p->footprints.count; i++) {
        const struct footprint *f = &p->footprints.items[i];
        if (f->parts[PART_MAPPED] && (double)f->rss_bytes >= NEAR_SHARE * (double)s->rss_bytes &&
            (!best || f->rss_bytes >= best->rss_bytes))
            best = f;
    }
    return best;
}

static bool is_python(const char *module)
{
    return text_begins(module, "libpython") || text_begins(module, "python");
}

/* The index of the module whose code called mmap; -1: not known. */
static ptrdiff_t module_of(const struct profile *p, const struct site *s)
{
    uint64_t address = s->node < p->nodes.count ? p->nodes.items[s->node].address : 0;
    const struct module *m =
        address > NODE_POOL && !NODE_IS_PYTHON(address) ? module_at(p, address) : NULL;
    return m && m->path && *m->path ? m - p->modules.items : -1;
}

/* The bytes that each module had mapped at that time. If a file was loaded several times, its
 * modules count as one. */
static int64_t *mapped_bytes(const struct profile *p, uint64_t time_ns)
{
    int64_t *bytes = xcalloc(p->modules.count + 1, sizeof *bytes);
    ptrdiff_t *modules = xcalloc(p->sites.count + 1, sizeof *modules);
    for (size_t i = 0; i < p->sites.count; i++)
        modules[i] =
            p->sites.items[i].domain == DOMAIN_MAPPED ? module_of(p, &p->sites.items[i]) : -1;
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        for (size_t k = 0; k < v->row_count; k++) {
            const struct row *row = &p->rows.items[v->first_row + k];
            ptrdiff_t m = row->site < p->sites.count ? modules[row->site] : -1;
            if (m >= 0)
                bytes[m] = (int64_t)((uint64_t)bytes[m] + row->columns[COL_BYTES] -
                                     row->columns[COL_FREED]);
        }
        if (v->end_ns >= time_ns)
            break;
    }
    for (size_t i = 0; i < p->modules.count; i++)
        for (size_t k = 0; k < i && bytes[i]; k++)
            if (bytes[k] && p->modules.items[k].path &&
                strcmp(p->modules.items[k].path, p->modules.items[i].path) == 0) {
                bytes[k] = (int64_t)((uint64_t)bytes[k] + (uint64_t)bytes[i]);
                bytes[i] = 0;
            }
    free(modules);
    return bytes;
}

bool mapped_by_python(const struct profile *p, const struct site *s)
{
    ptrdiff_t module = module_of(p, s);
    return module >= 0 && is_python(path_base(p->modules.items[module].path));
}

struct mapped_by mapped_by(const struct profile *p)
{
    const struct stamp *s = highest_stamp(p);
    struct mapped_by out = {0};
    if (!s || p->together)
        return out;
    const struct footprint *f = counted_at(p, s);
    uint64_t others = f ? 0 : not_mapped(p, s), most = 0;
    uint64_t beside = f                        ? f->parts[PART_MAPPED]
                      : s->anon_bytes > others ? s->anon_bytes - others
                                               : 0;
    if (!beside)
        return out;
    out.rss_bytes = f ? f->rss_bytes : s->rss_bytes;
    out.heap_bytes = f ? f->live_bytes : s->live_bytes;
    out.time_ns = f ? f->time_ns : s->time_ns;
    int64_t *bytes = mapped_bytes(p, out.time_ns);
    for (size_t i = 0; i < p->modules.count; i++) {
        if (bytes[i] <= 0 || (uint64_t)bytes[i] <= most)
            continue;
        const char *name = path_base(p->modules.items[i].path);
        if (is_python(name))
            continue;
        most = (uint64_t)bytes[i];
        out.module = name;
    }
    free(bytes);
    out.bytes = (double)most <= SLACK * (double)beside ? most : beside;
    if (out.bytes < LEAST_BYTES || out.bytes < out.rss_bytes / LEAST_SHARE)
        out.module = NULL;
    return out;
}
