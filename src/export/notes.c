/* What a format cannot express about a particular recording: refusals, and lines for stderr. */
#include <errno.h>

#include "answer/imported.h"
#include "base/say.h"
#include "export/export.h"
#include "model/imported.h"

/* The process that is exported; the first one for formats that hold all. */
static const struct profile *profile_of(const struct export *e, const struct export_format *f)
{
    const struct profile *p = e->recording->profiles.items;
    return f->whole || answer_process(e->recording, e->query, &p, NULL)
               ? e->recording->profiles.items
               : p;
}

int export_check(const struct export *e, const struct export_format *f, struct err *err)
{
    const struct profile *p = profile_of(e, f);
    const char *from = p->imported.from;
    if (from && f->all_known)
        return err_set(
            err, -ENODATA,
            "the format %s cannot say that a figure is not known, and this recording was "
            "imported from %.100s; csv can",
            f->name, from);
    if (profile_lacks(p, f->needs))
        return err_set(
            err, -ENODATA,
            "the format %s needs %s, which this recording does not know: it was imported "
            "from %.100s",
            f->name, profile_lacks(p, f->needs & UNKNOWN_COUNTS) ? "numbers of blocks" : "times",
            from ? from : "another tool");
    if (p->merge && f->timeline)
        return err_set(err, -ENODATA,
                       "the format %s needs the course of one run, which a merge does not keep; "
                       "export one of its %zu recordings",
                       f->name, p->merge->inputs.count);
    return 0;
}

void export_note_recording(struct export *e, const struct export_format *f)
{
    const struct profile *p = profile_of(e, f);
    if (f->all_said)
        return;
    if (p->sample_bytes)
        say(e->notes,
            "tidemark export: sampled, one allocation per %B: figures of the heap are estimates\n",
            p->sample_bytes);
    if (p->attached.is && p->attached.before == BEFORE_KNOWN)
        say(e->notes,
            "tidemark export: %B in %N block(s) from before the attach are not in the figures\n",
            p->attached.before_bytes, p->attached.before_blocks);
    else if (p->attached.is)
        say(e->notes, "tidemark export: what was allocated before the attach is not in the "
                      "figures\n");
    if (p->imported.from) {
        strbuf_puts(e->notes, "tidemark export: ");
        imported_line(p, e->notes);
        strbuf_puts(e->notes, "\n");
    }
    if (p->merge)
        say(e->notes,
            "tidemark export: %r holds sums over the %N recording(s) of the merge, and no "
            "spreads\n",
            f->name, p->merge->inputs.count);
}

size_t export_known_columns(const struct export *e, struct stack_column *columns, size_t count)
{
    const struct profile *p;
    size_t known = 0;
    if (answer_process(e->recording, e->query, &p, NULL) || !p->imported.from)
        return count;
    for (size_t i = 0; i < count; i++)
        if (metric_is_known(p, columns[i].metric))
            columns[known++] = columns[i];
    return known ? known : 1;
}
