/* The first lines of a report on a recording of several processes: which one this is, and the
 * tree. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/sample_sums.h"
#include "base/say.h"
#include "answer/summary.h"
#include "base/units.h"

#define PROCESS_LINES 6 /* and one line before, one after them */
#define NOBODY        SIZE_MAX
#define SMALL_SHARE   100                 /* less than 1/100 of the largest counts as small */
#define MAPPED_LEAST  ((uint64_t)1 << 20) /* besides the heap, to be worth mentioning */

/* One program of a process, as the tree shows it. */
struct member {
    size_t parent; /* NOBODY: not known */
    size_t like;   /* the largest of those with the same command and the same kind of parent */
    size_t alike;  /* how many others this one's line stands for */
    bool shown;
};

/* --- the chosen process ----------------------------------------------------------------------- */

const char *summary_why_chosen(const struct recording *r, const struct profile *chosen)
{
    uint64_t peak = 0, memory = 0;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        peak = p->peak_bytes > peak ? p->peak_bytes : peak;
        memory = profile_memory(p) > memory ? profile_memory(p) : memory;
    }
    if (chosen->peak_bytes && chosen->peak_bytes == peak)
        return "has the highest peak";
    return memory && profile_memory(chosen) == memory ? "held the most memory, including mappings"
                                                      : NULL;
}

size_t summary_process_count(const struct recording *r)
{
    struct map later = {0}; /* pids of the profiles behind */
    size_t count = 0;
    for (size_t i = r->profiles.count; i-- > 0;) {
        const struct profile *p = &r->profiles.items[i];
        uint32_t *behind = map_at(&later, p->pid);
        count += !p->execed || *behind == MAP_NONE; /* what it became may not have been recorded */
        *behind = 1;
    }
    map_release(&later);
    return count;
}

void summary_choice(const struct recording *r, const struct profile *chosen, const struct style *s,
                    struct strbuf *out)
{
    if (r->profiles.count < 2)
        return;
    size_t start = summary_begin(out, s, "processes");
    size_t processes = summary_process_count(r);
    unit_count(out, (int64_t)processes);
    if (r->profiles.count > processes)
        say(out, ", which ran %N programs", r->profiles.count);
    if (!chosen) {
        strbuf_puts(out, ", this is about all of them; --process PID shows one");
    } else if (chosen->together) {
        strbuf_puts(out, ", all together here; --process PID picks one");
    } else {
        strbuf_printf(out, "; this is about %" PRIu32 ", ", chosen->pid);
        summary_program_name(chosen, out);
        const char *why = summary_why_chosen(r, chosen);
        if (why)
            strbuf_printf(out, ", which %s", why);
        strbuf_puts(out, "; --process PID picks another");
    }
    summary_end(out, s, start);
}

/* --- the tree --------------------------------------------------------------------------------- */

static uint64_t weight(const struct profile *p)
{
    return p->sampling.alone ? sampled_whole(p).cpu_ns : profile_memory(p);
}

/* Parents come first in a recording. A program's parent may also be what its process ran before. */
static void find_parents(const struct recording *r, struct member *members)
{
    struct map last = {0}; /* pid -> its last program so far */
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        uint32_t parent = map_get(&last, p->ppid), before = map_get(&last, p->pid);
        if (before != MAP_NONE && r->profiles.items[before].execed &&
            (parent == MAP_NONE || parent < before))
            parent = before;
        members[i] = (struct member){.parent = parent == MAP_NONE ? NOBODY : parent, .like = i};
        *map_at(&last, p->pid) = (uint32_t)i;
    }
    map_release(&last);
}

/* Thirty children of one command are one line, that of the largest. The chosen one has its own. */
static void find_alike(const struct recording *r, const struct profile *chosen,
                       struct member *members)
{
    struct strpool kinds = {0}; /* "kind of the parent, command" */
    struct map largest = {0};   /* kind -> member */
    size_t *kind = xcalloc(r->profiles.count, sizeof *kind);
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        struct strbuf text = {0};
        say(&text, "%d %r", members[i].parent == NOBODY ? 0 : kind[members[i].parent] + 1,
            p == chosen ? "chosen "
            : p->execed ? "launcher "
                        : "");
        summary_command(p, SIZE_MAX, &text);
        kind[i] = strpool_add(&kinds, text.data);
        strbuf_release(&text);
        uint32_t *at = map_at(&largest, kind[i]);
        if (*at == MAP_NONE || weight(p) > weight(&r->profiles.items[*at]))
            *at = (uint32_t)i;
    }
    for (size_t i = 0; i < r->profiles.count; i++) {
        members[i].like = map_get(&largest, kind[i]);
        members[members[i].like].alike += members[i].like != i;
    }
    free(kind);
    map_release(&largest);
    strpool_release(&kinds);
}

/* A shell that becomes the program gets a line only if there is room. */
static bool is_launcher(const struct profile *p)
{
    return p->execed && profile_memory(p) < ANSWER_LAUNCHER_BYTES;
}

static bool is_listed_before(const struct profile *a, const struct profile *b)
{
    return is_launcher(a) != is_launcher(b) ? is_launcher(b) : weight(a) > weight(b);
}

static size_t show(struct member *m)
{
    bool more = !m->shown;
    m->shown = true;
    return more;
}

/* Chooses the process in question (or the first), what started it, then the largest. Small ones
 * share the last line, unless there is only one of them. */
static void choose_lines(const struct recording *r, const struct profile *chosen,
                         struct member *members)
{
    size_t count = r->profiles.count, lines = 0;
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = weight(&r->profiles.items[i]) > largest ? weight(&r->profiles.items[i]) : largest;
    size_t at = !chosen || chosen->together ? 0 : (size_t)(chosen - r->profiles.items);
    for (; at != NOBODY && lines < PROCESS_LINES / 2; at = members[at].parent)
        if (!is_launcher(&r->profiles.items[at]) || &r->profiles.items[at] == chosen)
            lines += show(&members[members[at].like]);
    while (lines < PROCESS_LINES) {
        size_t best = NOBODY, left = 0;
        for (size_t i = 0; i < count; i++) {
            if (members[i].shown || members[i].like != i)
                continue;
            left++;
            if (best == NOBODY || is_listed_before(&r->profiles.items[i], &r->profiles.items[best]))
                best = i;
        }
        if (!left || (left > 1 && weight(&r->profiles.items[best]) < largest / SMALL_SHARE))
            return;
        lines += show(&members[best]);
    }
}

/* The nearest ancestor that has a line, or whose line another one stands for. */
static size_t shown_above(const struct member *members, size_t i)
{
    size_t at = members[i].parent;
    while (at != NOBODY && !members[members[at].like].shown)
        at = members[at].parent;
    return at == NOBODY ? NOBODY : members[at].like;
}

static void add_figures(const struct profile *p, struct strbuf *out)
{
    const struct sampling *g = &p->sampling;
    if (!g->alone) {
        say(out, "peak %B", p->peak_bytes);
        if (profile_memory(p) >= p->peak_bytes + MAPPED_LEAST)
            say(out, " (with mappings %B)", (int64_t)profile_memory(p));
        strbuf_puts(out, ", ");
        return;
    }
    struct sampled_totals t = sampled_whole(p);
    if (g->cpu_period_ns)
        unit_ms(out, (int64_t)t.cpu_ns);
    if (g->fault_period)
        say(out, "%r%N fault(s)", g->cpu_period_ns ? ", " : "", t.faults);
    strbuf_puts(out, ", ");
}

static void add_line(const struct profile *p, const struct member *m, size_t depth, bool chosen,
                     const struct style *s, struct strbuf *out)
{
    struct strbuf tail = {0};
    strbuf_puts(&tail, "  ");
    add_figures(p, &tail);
    summary_ending(p, &tail);
    if (m->alike)
        strbuf_printf(&tail, "; and %zu more like it", m->alike);
    strbuf_puts(&tail, chosen ? "  <- this report" : "");
    size_t indent = 2 * depth, used = indent + 10 + tail.size;
    strbuf_printf(out, "%*s%8" PRIu32 "  ", (int)indent, "", p->pid);
    summary_short_command(p, s->width > used + 16 ? s->width - used : 16, out);
    strbuf_printf(out, "%s\n", tail.data);
    strbuf_release(&tail);
}

static void add_rest(const struct recording *r, const struct member *members, struct strbuf *out)
{
    size_t rest = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        if (members[members[i].like].shown)
            continue;
        rest++;
        most = profile_memory(p) > most ? profile_memory(p) : most;
    }
    if (!rest)
        return;
    say(out, "          and %N more%r", rest,
        summary_process_count(r) == r->profiles.count ? ""
        : rest == 1                                   ? " program"
                                                      : " programs");
    if (most)
        say(out, ", peak at most %B", most);
    strbuf_puts(out, "; --json lists all\n");
}

/* What a process started comes right below it. */
static void add_lines_below(const struct recording *r, const struct member *members, size_t above,
                            size_t depth, const struct profile *chosen, const struct style *s,
                            struct strbuf *out)
{
    for (size_t i = 0; i < r->profiles.count; i++) {
        if (!members[i].shown || shown_above(members, i) != above)
            continue;
        add_line(&r->profiles.items[i], &members[i], depth, &r->profiles.items[i] == chosen, s,
                 out);
        add_lines_below(r, members, i, depth + 1, chosen, s, out);
    }
}

void summary_processes(const struct recording *r, const struct profile *chosen,
                       const struct style *s, struct strbuf *out)
{
    if (r->profiles.count < 2)
        return;
    struct member *members = xcalloc(r->profiles.count, sizeof *members);
    find_parents(r, members);
    find_alike(r, chosen, members);
    choose_lines(r, chosen, members);
    summary_choice(r, chosen, s, out);
    add_lines_below(r, members, NOBODY, 0, chosen, s, out);
    add_rest(r, members, out);
    free(members);
    strbuf_putc(out, '\n');
}
