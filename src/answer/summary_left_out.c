/* The lines of a summary about what the table leaves out, and about functions that it should not
 * name. */
#include "analyse/wrappers.h"
#include "base/say.h"
#include "answer/location.h"
#include "answer/report.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"
#include "answer/wrap.h"

#define OWNERS_SHOWN   3
#define DEFAULTS_SHOWN 4

/* "the loader, libc and libstdc++" */
static void add_preset_owners(const struct call_tree *t, struct strbuf *out)
{
    size_t owners = 0, done = 0;
    for (int i = 0; i < PRESETS; i++)
        owners += !value_is_zero(t->presets[i]);
    for (int i = 0; i < PRESETS && done < OWNERS_SHOWN; i++)
        if (!value_is_zero(t->presets[i])) {
            strbuf_printf(out, "%s%s",
                          done == 0            ? ""
                          : done + 1 == owners ? " and "
                                               : ", ",
                          preset_name((enum preset)i));
            done++;
        }
    if (owners > done)
        strbuf_printf(out, " and %zu more", owners - done);
}

static void add_presets(const struct call_tree *t, enum metric metric, struct strbuf *out)
{
    struct value v = t->ignored_by[IGNORED_PRESET];
    strbuf_puts(out, "hide ");
    unit_amount(out, metric, v.amount);
    strbuf_puts(out, metric == METRIC_LIVE    ? " live in "
                     : metric == METRIC_TOTAL ? " allocated in "
                                              : " in ");
    unit_counted(out, v.count, report_count_word(metric));
    strbuf_puts(out, " of ");
    add_preset_owners(t, out);
    strbuf_puts(out, "; see --no-presets");
}

static void add_defaults(const struct recording *r, struct strbuf *out)
{
    static const char *const options[] = {[DEFAULT_WITHIN] = "--within",
                                          [DEFAULT_IGNORE] = "--ignore",
                                          [DEFAULT_SUPPRESSIONS] = "--suppressions",
                                          [DEFAULT_OF_PROGRAM] = "the suppressions inside"};
    bool given = false;
    for (size_t i = 0; i < r->defaults.count; i++) {
        const struct recorded_default *d = &r->defaults.items[i];
        if (i == DEFAULTS_SHOWN) {
            strbuf_printf(out, " and %zu more", r->defaults.count - i);
            break;
        }
        say(out, "%r%r %s", i ? ", " : "", options[d->kind], *d->name ? d->name : d->text);
        given |= d->kind != DEFAULT_OF_PROGRAM;
    }
    strbuf_printf(out, "%s; --no-defaults leaves them out",
                  given ? " were given to run" : " are for LeakSanitizer");
}

/* What was left out on request; nothing if there was no request. */
static void add_requested(const struct call_tree *t, const struct frame_table *frames,
                          enum metric metric, struct strbuf *out)
{
    const struct stack_filter *f = frames->filter;
    struct value asked = t->ignored_by[IGNORED_PATTERN];
    value_join(&asked, t->ignored_by[IGNORED_SUPPRESSION], t->by_max);
    bool suppress = f->suppress.rules.count || frames->recorded.suppress.rules.count;
    bool ignore = f->ignore.patterns.count || frames->recorded.ignore.patterns.count;
    if (!ignore && !suppress)
        return;
    unit_amount(out, metric, asked.amount);
    strbuf_puts(out, " in ");
    unit_counted(out, asked.count, report_count_word(metric));
    strbuf_puts(out, ignore && suppress ? " by --ignore and suppressions, not in the table"
                     : suppress         ? " by suppressions, not in the table"
                                        : " by --ignore, not in the table");
}

void summary_ignored(const struct call_tree *t, const struct frame_table *frames,
                     enum metric metric, const struct style *s, size_t room, struct strbuf *out)
{
    static const char *const labels[] = {"ignored", "presets", "defaults"};
    struct strbuf clauses[3] = {0};
    size_t wanted = 0, added = 0, start = 0;
    add_requested(t, frames, metric, &clauses[0]);
    if (!value_is_zero(t->ignored_by[IGNORED_PRESET]))
        add_presets(t, metric, &clauses[1]);
    if (frames->recording->defaults.count && !frames->filter->no_defaults)
        add_defaults(frames->recording, &clauses[2]);
    for (size_t i = 0; i < 3; i++)
        wanted += clauses[i].size > 0;
    for (size_t i = 0; i < 3; i++) {
        if (!clauses[i].size)
            continue;
        if (!added || wanted <= room)
            start = summary_begin(out, s, labels[i]);
        added++;
        strbuf_add(out, clauses[i].data, clauses[i].size);
        if (added == wanted || wanted <= room)
            summary_end(out, s, start);
        else
            strbuf_puts(out, "; ");
        strbuf_release(&clauses[i]);
    }
}

void summary_wrappers(const struct answer *a, const struct style *s, struct strbuf *out)
{
    struct wrappers w;
    if (!wrappers_find(&w, a))
        return;
    size_t start = out->size;
    strbuf_puts(out, "hint: ");
    unit_percent(out, w.share, 1);
    strbuf_puts(out, " % is charged to ");
    location_bare_name(out, frame_table_string(&a->frames, w.names[0]), 60);
    if (w.count > 1)
        strbuf_printf(out, " and %zu like it", w.count - 1);
    strbuf_printf(out, ", which allocate%s for others; to see for whom: --fold '",
                  w.count > 1 ? "" : "s");
    wrappers_pattern(&w, a, out);
    strbuf_putc(out, '\'');
    wrap_since(out, start, 6, s->width);
    strbuf_putc(out, '\n');
}
