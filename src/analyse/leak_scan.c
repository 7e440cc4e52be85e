#include "analyse/leak_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "model/moment.h"

#define SCANS_NAMED 8

const struct scan *leak_scan_judged(const struct profile *p, const char **why)
{
    *why = NULL;
    for (size_t i = p->scans.count; i-- > 0;) {
        if (!p->scans.items[i].unreachable)
            return &p->scans.items[i];
        if (!*why)
            *why = p->scans.items[i].unreachable;
    }
    return NULL;
}

/* A scan at the end that was not repeated does not know what was allocated since the one at
 * exit. */
bool leak_scan_doubts(const struct profile *p, const struct scan *s)
{
    const struct scan *exit = profile_scan(p, SCAN_EXIT);
    size_t looked = exit && exit < s ? exit->intervals : s->intervals;
    for (size_t i = s->first_row; !s->unreachable && i < s->first_row + s->row_count; i++)
        if (p->live.items[i].reach == REACH_UNKNOWN && p->live.items[i].interval < looked)
            return true;
    return false;
}

void leak_scan_name(const struct profile *p, const struct scan *s, struct strbuf *out)
{
    if (s->kind != SCAN_ASKED) {
        strbuf_puts(out, s->kind == SCAN_EXIT ? "exit" : "end");
        return;
    }
    size_t number = 1;
    for (size_t i = 0; i < p->scans.count && &p->scans.items[i] != s; i++)
        number += p->scans.items[i].kind == SCAN_ASKED;
    strbuf_printf(out, "leaks#%zu", number);
}

/* Finds the scan for "leaks", "leaks#2" or "leaks#-1"; NULL: another word, or no such scan. */
static const struct scan *find_numbered(const struct profile *p, const char *word)
{
    long wanted = 1;
    if (!text_begins(word, "leaks") || (word[5] && word[5] != '#'))
        return NULL;
    if (word[5]) {
        char *end;
        wanted = strtol(word + 6, &end, 10);
        if (*end || end == word + 6)
            return NULL;
    }
    for (size_t i = 0; i < p->scans.count && wanted; i++) {
        const struct scan *s = &p->scans.items[wanted > 0 ? i : p->scans.count - 1 - i];
        if (s->kind == SCAN_ASKED && (wanted > 0 ? --wanted : ++wanted) == 0)
            return s;
    }
    return NULL;
}

static const struct scan *find_at(const struct profile *p, const char *word)
{
    struct moment m;
    if (moment_resolve(p, word, &m, NULL) || m.peak)
        return NULL;
    for (size_t i = p->scans.count; i-- > 0;)
        if (p->scans.items[i].intervals == m.intervals)
            return &p->scans.items[i];
    return NULL;
}

static int no_scan(const struct profile *p, const char *word, struct err *err)
{
    struct strbuf names = {0};
    size_t first = p->scans.count > SCANS_NAMED ? p->scans.count - SCANS_NAMED : 0;
    for (size_t i = first; i < p->scans.count; i++) {
        const struct scan *s = &p->scans.items[i];
        strbuf_puts(&names, i > first ? ", " : first ? "..., " : "");
        leak_scan_name(p, s, &names);
        strbuf_printf(&names, " (%.3f s)", (double)s->time_ns / 1e9);
    }
    err_set(err, -EINVAL, "there was no leak scan at '%s'; --at takes one of these moments: %s",
            word, names.data);
    strbuf_release(&names);
    return -EINVAL;
}

int leak_scan_resolve(const struct profile *p, const char *word, const struct scan **out,
                      struct err *err)
{
    static const struct scan nothing = {.kind = SCAN_END};
    if (!p->scans.count && p->rows.count)
        return err_set(err, -ENODATA,
                       "this recording has no list of live blocks; record again, or see 'tidemark "
                       "report'");
    if (!p->scans.count || !word || strcmp(word, "end") == 0) {
        *out = p->scans.count ? vec_last(&p->scans) : &nothing;
        return 0;
    }
    const struct scan *found =
        strcmp(word, "exit") == 0 ? profile_scan(p, SCAN_EXIT) : find_numbered(p, word);
    if (!found)
        found = find_at(p, word);
    if (!found)
        return no_scan(p, word, err);
    *out = found;
    return 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/*
 * If there was no scan at the end, the intervals in which the blocks that are left were allocated
 * are an assumption, and may differ from those of the scan before. A site has freed no more than
 * was counted since then. Of all processes together, the moment of the exit is not one.
 */
static void limit_freed(const struct profile *p, const struct scan *before, struct live_rows *freed)
{
    struct room {
        uint64_t blocks, bytes;
    } *room = xcalloc(p->sites.count + 1, sizeof *room);
    for (size_t i = before->intervals; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
            room[p->rows.items[k].site].blocks += p->rows.items[k].columns[COL_FREES];
            room[p->rows.items[k].site].bytes += p->rows.items[k].columns[COL_FREED];
        }
    }
    for (size_t i = 0; i < freed->rows.count && (!p->together || p->merge); i++) {
        struct live_row *r = &freed->rows.items[i];
        struct room *of = &room[r->site];
        r->blocks = r->blocks < of->blocks ? r->blocks : of->blocks;
        r->bytes = !r->blocks ? 0 : r->bytes < of->bytes ? r->bytes : of->bytes;
        r->usable = r->blocks ? r->usable : 0;
        r->untouched = r->blocks ? r->untouched : 0;
        of->blocks -= r->blocks;
        of->bytes -= r->bytes;
    }
    free(room);
}

void leak_scan_freed(const struct profile *p, struct live_rows *out)
{
    const struct scan *before = profile_scan(p, SCAN_EXIT), *after = profile_scan(p, SCAN_END);
    struct map index = {0}; /* (site, interval) -> row */
    if (!before || !after || before > after ||
        p->attached.detached) /* the program went on: these are frees of a moment like any other */
        return;
    for (size_t i = 0; i < before->row_count; i++) {
        const struct live_row *r = &p->live.items[before->first_row + i];
        uint32_t *place = map_at(&index, (uint64_t)r->site << 32 | r->interval);
        if (*place == MAP_NONE) {
            *place = (uint32_t)out->rows.count;
            *vec_push(&out->rows) = *r;
            continue;
        }
        struct live_row *sum = &out->rows.items[*place];
        sum->blocks += r->blocks;
        sum->bytes += r->bytes;
        sum->usable += r->usable;
        sum->untouched += r->untouched;
        sum->first_ns = r->first_ns < sum->first_ns ? r->first_ns : sum->first_ns;
        sum->last_ns = r->last_ns > sum->last_ns ? r->last_ns : sum->last_ns;
    }
    for (size_t i = 0; i < after->row_count; i++) {
        const struct live_row *r = &p->live.items[after->first_row + i];
        uint32_t place = map_get(&index, (uint64_t)r->site << 32 | r->interval);
        if (place == MAP_NONE)
            continue; /* allocated since */
        struct live_row *left = &out->rows.items[place];
        left->blocks = less(left->blocks, r->blocks);
        left->bytes = less(left->bytes, r->bytes);
        left->usable = less(left->usable, r->usable);
        left->untouched = less(left->untouched, r->untouched);
    }
    map_release(&index);
    limit_freed(p, before, out);
}

static bool is_lost(const struct live_row *r)
{
    return r->reach == REACH_LOST || r->reach == REACH_INDIRECT;
}

int64_t *leak_scan_lost_late(const struct profile *p)
{
    const struct scan *before = profile_scan(p, SCAN_EXIT), *end = profile_scan(p, SCAN_END);
    int64_t *late = xcalloc(p->sites.count + 1, sizeof *late);
    if (!before || !end || before->unreachable || end->unreachable)
        return late;
    for (size_t i = 0; i < end->row_count; i++) {
        const struct live_row *r = &p->live.items[end->first_row + i];
        if (is_lost(r) && r->interval < before->intervals)
            late[r->site] = (int64_t)((uint64_t)late[r->site] + r->bytes);
    }
    for (size_t i = 0; i < before->row_count; i++) {
        const struct live_row *r = &p->live.items[before->first_row + i];
        if (is_lost(r))
            late[r->site] = (int64_t)((uint64_t)late[r->site] - r->bytes);
    }
    for (size_t i = 0; i < p->sites.count; i++)
        late[i] = late[i] > 0 ? late[i] : 0;
    return late;
}
