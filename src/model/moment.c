#include "model/moment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_amount.h"
#include "model/imported.h"
#include "model/mark_rows.h"

static uint64_t boundary_ns(const struct profile *p, size_t intervals)
{
    return intervals ? p->intervals.items[intervals - 1].end_ns : 0;
}

static struct moment nearest(const struct profile *p, const char *word, uint64_t time_ns)
{
    size_t at; /* index of the first boundary at or after time_ns */
    BISECT(at, p->intervals.count, boundary_ns(p, at) < time_ns);
    if (at && boundary_ns(p, at) >= time_ns &&
        time_ns - boundary_ns(p, at - 1) < boundary_ns(p, at) - time_ns)
        at--;
    return (struct moment){.word = word, .intervals = at, .time_ns = boundary_ns(p, at)};
}

static struct moment at_peak(const struct profile *p, const char *word, uint64_t peak_ns)
{
    /* For a merge, the calls up to each input's peak are not kept. */
    size_t i = p->merge ? p->intervals.count : 0;
    while (i < p->intervals.count && p->intervals.items[i].end_ns < peak_ns)
        i++;
    return (struct moment){.word = word,
                           .peak = true,
                           .intervals = i < p->intervals.count ? i + 1 : i,
                           .time_ns = peak_ns};
}

/* When the process began to end, before its destructors ran; false: that was not recorded. */
static bool at_exit(const struct profile *p, const char *word, struct moment *out)
{
    for (size_t i = p->scans.count; i-- > 0;)
        if (p->scans.items[i].kind == SCAN_EXIT) {
            *out = (struct moment){.word = word,
                                   .intervals = p->scans.items[i].intervals,
                                   .time_ns = p->scans.items[i].time_ns};
            return true;
        }
    for (size_t i = p->footprints.count; i-- > 0;)
        if (p->footprints.items[i].kind == FOOTPRINT_EXIT) {
            *out = nearest(p, word, p->footprints.items[i].time_ns);
            return true;
        }
    return false;
}

/* Parses a time, in ns, or "50%" of the run; false: some other word. */
static bool parse_time(const char *word, uint64_t duration_ns, double *ns)
{
    char *end;
    if (duration_parse(word, ns))
        return true;
    double value = decimal_parse(word, &end);
    *ns = value / 100 * (double)duration_ns;
    return end != word && isfinite(value) && strcmp(end, "%") == 0;
}

/* "event" and "event#1" are the first mark of that name, "event#-1" the last. */
static const struct mark *find_mark(const struct profile *p, const char *word)
{
    const char *hash = strrchr(word, '#');
    long wanted = 1;
    size_t size = strlen(word);
    if (hash && hash[1]) {
        char *end;
        long number = strtol(hash + 1, &end, 10);
        if (!*end && number) {
            wanted = number;
            size = (size_t)(hash - word);
        }
    }
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct mark *m = &p->marks.items[wanted > 0 ? i : p->marks.count - 1 - i];
        if (mark_has_label(m->name, word, size) && (wanted > 0 ? --wanted : ++wanted) == 0)
            return m;
    }
    return NULL;
}

bool moment_is_mark(const struct profile *p, const char *word)
{
    return word && find_mark(p, word);
}

static int resolve(const struct profile *p, const char *word, uint64_t peak_ns, struct moment *out,
                   struct err *err)
{
    size_t all = p->intervals.count;
    double ns;
    if (known_moment(p, word, parse_time(word, p->duration_ns, &ns), err))
        return -ENODATA;
    if (strcmp(word, "start") == 0) {
        *out = (struct moment){.word = word};
    } else if (strcmp(word, "end") == 0) {
        *out = (struct moment){.word = word, .intervals = all, .time_ns = p->duration_ns};
    } else if (strcmp(word, "peak") == 0) {
        *out = at_peak(p, word, peak_ns);
    } else if (strcmp(word, "exit") == 0 && !moment_is_mark(p, word)) {
        if (!at_exit(p, word, out))
            return err_set(err, -EINVAL,
                           "when this process began to end is not known: it was killed, called "
                           "_exit or exec, other threads ran on after its Python interpreter had "
                           "ended, or the work at the end was switched off");
    } else if (p->merge) {
        return err_set(err, -EINVAL,
                       "'%s' is not a moment of a merged recording: it keeps start, exit, peak and "
                       "end of its inputs; ask the input itself",
                       word);
    } else if (parse_time(word, p->duration_ns, &ns)) {
        uint64_t last = p->duration_ns > boundary_ns(p, all) ? p->duration_ns : boundary_ns(p, all);
        /* Half a ms of tolerance, so that a printed duration can be typed in. */
        if (ns > (double)last + 5e5)
            return err_set(err, -EINVAL, "'%s' is after the end; the run lasted %.3f s", word,
                           (double)p->duration_ns / 1e9);
        *out = nearest(p, word, (uint64_t)ns);
        out->asked_ns = (uint64_t)ns;
        return 0;
    } else {
        const struct mark *m = find_mark(p, word);
        if (!m) {
            struct strbuf labels = {0};
            mark_labels(p, &labels);
            err_set(err, -EINVAL,
                    "'%s' is not a moment of this recording; moments are start, exit, end, peak, a "
                    "time "
                    "such as 12.5s, a share such as 50%% (%s%s)",
                    word, labels.size ? "or a mark: " : "it has no marks or snapshots",
                    labels.size ? labels.data : "");
            strbuf_release(&labels);
            return -EINVAL;
        }
        *out =
            (struct moment){.word = word, .intervals = m->intervals, .time_ns = m->stamp.time_ns};
    }
    out->asked_ns = out->time_ns;
    return 0;
}

int moment_resolve(const struct profile *p, const char *word, struct moment *out, struct err *err)
{
    return resolve(p, word, p->peak_time_ns, out, err);
}

int window_resolve(const struct profile *p, const char *since, const char *at, struct window *out,
                   struct err *err)
{
    return window_resolve_own_peak(p, p->peak_time_ns, since, at, out, err);
}

int window_resolve_own_peak(const struct profile *p, uint64_t peak_ns, const char *since,
                            const char *at, struct window *out, struct err *err)
{
    int code = resolve(p, since ? since : "start", peak_ns, &out->since, err);
    if (!code)
        code = resolve(p, at ? at : "end", peak_ns, &out->at, err);
    if (code)
        return code;
    if (out->since.intervals > out->at.intervals ||
        (out->since.time_ns > out->at.time_ns && out->since.intervals == out->at.intervals &&
         (out->since.peak || out->at.peak) && strcmp(out->at.word, "end") != 0))
        return err_set(err, -EINVAL, "--since %s (%.3f s) comes after --at %s (%.3f s); swap them",
                       out->since.word, (double)out->since.time_ns / 1e9, out->at.word,
                       (double)out->at.time_ns / 1e9);
    return 0;
}

bool window_is_whole(const struct profile *p, const struct window *w)
{
    return !w->since.peak && !w->at.peak && w->since.intervals == 0 &&
           w->at.intervals == p->intervals.count;
}
