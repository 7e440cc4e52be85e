/* The part of a summary about the recording: what is missing in it, and its notes. */
#include "answer/summary.h"

#include "answer/notes.h"
#include "base/units.h"
#include "model/not_recorded.h"

bool summary_flaws(const struct recording *r, const struct profile *p, const struct totals *t,
                   const struct style *s, struct strbuf *out)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } flaws[] = {
        {t->lost_events, "event lost", "events lost"},
        {t->truncated_stacks, "stack cut off", "stacks cut off"},
        {t->incomplete_stacks, "stack ends where unwind information is missing",
         "stacks end where unwind information is missing"},
        {t->unknown_frees, "free of an unknown block", "frees of unknown blocks"},
    };
    bool complete = r->complete && p->complete, any = !complete;
    if (complete && !t->lost_events && !t->truncated_stacks && !t->incomplete_stacks &&
        !t->unknown_frees)
        return false;
    summary_label(out, s, complete ? "missing" : "incomplete");
    if (!complete)
        say(out, "%r%s%r", style_warn(s),
            r->incomplete ? r->incomplete
                          : "the end of the process was not seen (a snapshot has none)",
            style_plain(s));
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
        if (!flaws[i].count)
            continue;
        say(out, "%r%N %r", any ? "; " : "", flaws[i].count,
            flaws[i].count == 1 ? flaws[i].one : flaws[i].many);
        any = true;
    }
    strbuf_putc(out, '\n');
    return true;
}

enum recorded summary_not_recorded(const struct profile *p, const struct style *s,
                                   struct strbuf *out)
{
    size_t note;
    enum recorded is = not_recorded(p, &note);
    if (is == RECORDED)
        return is;
    size_t start = summary_begin(out, s, "incomplete");
    say(out, "%r%r%s%r", style_warn(s), is == RECORDED_NOTHING ? "not recorded: " : "",
        p->notes.items[note], style_plain(s));
    summary_end(out, s, start);
    return is;
}

size_t summary_lines(const struct strbuf *out, size_t start)
{
    size_t lines = 0;
    for (size_t i = start; i < out->size; i++)
        lines += out->data[i] == '\n';
    return lines;
}

size_t summary_room(const struct strbuf *out, size_t start)
{
    size_t used = summary_lines(out, start);
    return used < SUMMARY_LINES ? SUMMARY_LINES - used : 0;
}

void summary_notes(const struct recording *r, const struct profile *p, const struct style *s,
                   size_t start, struct strbuf *out)
{
    size_t room = summary_room(out, start);
    size_t shown = 0, told;
    struct notes notes;
    notes_init(&notes, r, p);
    if (not_recorded(p, &told) != RECORDED && !profile_is_sampled(p))
        notes_drop(&notes, told);
    for (; shown < notes.texts.count; shown++) {
        bool last = shown + 1 == notes.texts.count;
        size_t before = out->size, lines = 1;
        summary_label(out, s, "note");
        unit_text(out, notes.texts.items[shown]);
        summary_end(out, s, before);
        for (size_t i = before; i + 1 < out->size; i++)
            lines += out->data[i] == '\n';
        if (lines + !last > room) { /* one line is needed to say that there are more */
            out->size = before;
            out->data[before] = '\0';
            break;
        }
        room -= lines;
    }
    if (shown < notes.texts.count) {
        summary_label(out, s, "note");
        say(out, "%N more note(s); --json lists all\n", notes.texts.count - shown);
    }
    notes_release(&notes);
}
