#include "cli/run_summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "analyse/leaks.h"
#include "answer/findings.h"
#include "answer/next_command.h"
#include "answer/notes.h"
#include "answer/summary.h"
#include "base/units.h"
#include "collect/session/output.h"
#include "answer/wrap.h"
#include "store/reader.h"

#define RUN_SHORT_NS     1000000000
#define WORK_SHORT_NS    500000000 /* less work at the end is not worth a line */
#define NOTES_SHOWN      5
#define FINDINGS_SHOWN   3
#define FINDINGS_NS      UINT64_C(200000000) /* the user waits: so long, or */
#define FINDINGS_SHARE   20                  /* 5 % of the run */
#define FINDINGS_BYTE_NS 60 /* measured: to read a byte and to find what stands out */
#define PROCESSES_SHOWN  5
#define READ_BACK_MOST   (UINT64_C(24) << 20) /* reading it takes up to 16 times as much memory */

/* The terminal belongs to the program: if it writes there too, a line of ours would overwrite one
 * of its own, or spoil its screen. Nor may we write to it from the background. */
static bool may_disturb(const struct run_progress *p, const struct session_status *s)
{
    return (p->has_terminal && !s->program_ended) || tcgetpgrp(STDERR_FILENO) != getpgrp();
}

/* Shows what is done at the end, while the user waits. */
static void show_work(struct run_progress *p, const struct session_status *s)
{
    struct strbuf b = {0};
    say(&b, "\r\033[Ktidemark: %.1f s  %s", (double)s->elapsed_ns / 1e9, s->work);
    if (s->total)
        say(&b, ": %N of %N", s->done, s->total);
    fputs(b.data, stderr);
    fflush(stderr);
    strbuf_release(&b);
    p->shown = true;
}

void run_show_progress(void *context, const struct session_status *s)
{
    struct run_progress *p = context;
    struct strbuf b = {0};
    if (s->work && !p->work_ns)
        p->work_ns = s->elapsed_ns;
    bool is_long = s->work && s->elapsed_ns - p->work_ns >= WORK_SHORT_NS;
    bool is_expected = s->elapsed_ns >= RUN_SHORT_NS && !(s->work && p->has_terminal);
    if (!(is_long || is_expected) || may_disturb(p, s))
        return; /* a short run needs no reassurance */
    if (s->work) {
        show_work(p, s);
        return;
    }
    double seconds = (double)(s->elapsed_ns - p->time_ns) / 1e9;
    double rate = seconds > 0 ? (double)(s->events - p->events) / seconds : 0;
    say(&b, "\r\033[Ktidemark: %.1f s  live %B  peak %B  %.2f M events/s",
        (double)s->elapsed_ns / 1e9, s->live_bytes, s->peak_bytes, rate / 1e6);
    if (s->program_ended) {
        say(&b, "  waiting for %N child process(es) (Ctrl-C to stop)", s->processes);
    }
    fputs(b.data, stderr);
    fflush(stderr);
    strbuf_release(&b);
    p->events = s->events;
    p->time_ns = s->elapsed_ns;
    p->shown = true;
}

static void add_notes(struct strbuf *b, const struct recording *r, const struct profile *p)
{
    struct notes notes;
    notes_init(&notes, r, p);
    for (size_t i = 0; i < notes.texts.count && i < NOTES_SHOWN; i++)
        wrap_text("  note: ", notes.texts.items[i], STYLE_WIDTH, b);
    if (notes.texts.count > NOTES_SHOWN) {
        say(b, "  and %N more note(s), in the report\n", notes.texts.count - NOTES_SHOWN);
    }
    notes_release(&notes);
}

/* Adds nothing if only what presets leave out was lost. */
static void add_lost(struct strbuf *b, const struct recording *r, const char *name)
{
    const struct leaks_question q = {.query = {.filter = {.presets = true}}};
    const struct profile *p;
    struct leaks leaks;
    if (answer_process(r, NULL, &p, NULL) || !leaks_lost(p).blocks ||
        leaks_find(&leaks, r, &q, NULL))
        return;
    struct leak_sum lost = leaks.sums[REACH_LOST], indirect = leaks.sums[REACH_INDIRECT];
    if (lost.blocks || indirect.blocks) {
        say(b, "  lost %B in %N block(s) that nothing points to any more: tidemark leaks %r\n",
            lost.bytes + indirect.bytes, lost.blocks + indirect.blocks, name);
    }
    leaks_release(&leaks);
}

/* Adds memory that the figures of the heap do not contain. */
static void add_mapped(struct strbuf *b, const struct recording *r, const char *name)
{
    const struct profile *p;
    if (answer_process(r, NULL, &p, NULL))
        return;
    struct mapped_by m = mapped_by(p);
    if (!m.module)
        return;
    size_t start = b->size;
    strbuf_puts(b, "  mapped ");
    summary_mapped(&m, b);
    strbuf_printf(b, ": tidemark report %s --metric mapped", name);
    wrap_since(b, start, 4, STYLE_WIDTH);
    strbuf_putc(b, '\n');
}

/* Adds the figure of `tidemark leaks`. */
static void add_lost_by_others(struct strbuf *b, const struct recording *r, const char *name)
{
    const struct leaks_question q = {.query = {.filter = {.presets = true}}};
    struct leaks own = {.recording = r, .question = &q};
    if (answer_process(r, NULL, &own.profile, NULL))
        return;
    struct leak_others others = leaks_of_others(&own, FINDINGS_NS);
    if (!others.blocks)
        return;
    say(b, "  lost by other processes: %r%B in %N block(s): tidemark leaks %r\n",
        others.left_out ? "at least " : "", others.bytes, others.blocks, name);
}

/* The recording is often about a child: a shell starts the program, for example. */
static void add_choice(struct strbuf *b, const struct recording *r, const struct profile *p)
{
    if (p->pid == r->profiles.items[0].pid)
        return;
    size_t start = b->size;
    strbuf_printf(b, "  these figures are of process %u (", (unsigned)p->pid);
    summary_short_command(p, 30, b);
    const char *why = summary_why_chosen(r, p);
    strbuf_printf(b, "), as in reports%s%s", why ? ": it " : "", why ? why : "");
    if (p->signal) {
        strbuf_puts(b, "; ");
        summary_ending(p, b);
    }
    wrap_since(b, start, 4, STYLE_WIDTH);
    strbuf_putc(b, '\n');
}

static void add_gpu(struct strbuf *b, const struct profile *p)
{
    const struct gpu_figures *driver = &p->gpu[GPU_DRIVER], *tensors = &p->gpu[GPU_TENSORS];
    if (!driver->peak_bytes && !tensors->peak_bytes)
        return;
    strbuf_puts(b, "  GPU memory: peak ");
    if (driver->peak_bytes)
        say(b, "%B%r", driver->peak_bytes, tensors->peak_bytes ? ", of tensors " : "");
    if (tensors->peak_bytes)
        say(b, "%B%r", tensors->peak_bytes, driver->peak_bytes ? "" : " of tensors");
    strbuf_putc(b, '\n');
}

/* Adds what was recorded about the program, for the first lines. */
static void add_figures(struct strbuf *b, const struct session_result *r, const struct profile *p)
{
    /* Only the first profile has it. */
    const uint64_t lost = r->recording->profiles.items[0].sampling.lost;
    const struct process_figures *f = &r->figures.items[p - r->recording->profiles.items];
    const struct sampling *g = &p->sampling;
    bool recorded = not_recorded(p, &(size_t){0}) != RECORDED_NOTHING;
    strbuf_puts(b, recorded ? "tidemark: " : "tidemark: nothing recorded in ");
    if (!g->alone && recorded) {
        say(b, "%N allocation(s) in ", f->allocations);
    }
    unit_time(b, p->duration_ns);
    size_t processes = summary_process_count(r->recording);
    if (processes > 1)
        say(b, " (and %N more process(es))", processes - 1);
    const struct profile *program = answer_program(r->recording);
    if (program->signal) {
        strbuf_puts(b, ", ");
        summary_ending(program, b);
    }
    strbuf_putc(b, '\n');
    add_choice(b, r->recording, p);
    if (!g->alone && recorded) {
        say(b, "  peak %B at %T; never freed %B in %N block(s)\n", p->peak_bytes, p->peak_time_ns,
            f->live_bytes, f->live_blocks);
        if (p->sample_bytes)
            say(b, "  sampled: one allocation per %B; figures are estimates\n", p->sample_bytes);
    }
    add_gpu(b, p);
    if (g->cpu_period_ns) {
        say(b, "  CPU time %M in %N sample(s)", f->sampled.cpu_ns, f->sampled.cpu_samples);
        if (g->kernel) {
            say(b, ", %M of it%r", f->sampled.kernel_ns,
                g->kernel == KERNEL_SAMPLED ? " in the kernel"
                                            : " in the kernel, charged by an estimate");
        }
        if (g->timer)
            strbuf_puts(b, ", by timers in the program");
        strbuf_putc(b, '\n');
    }
    if (g->fault_period) {
        say(b, "  page faults %N, which made %B resident\n", f->sampled.faults,
            f->sampled.fault_bytes);
    }
    if (lost) {
        say(b, "  LOST: at least %N sample(s) for lack of room; figures are too low\n", lost);
    }
}

/* Of many processes, adds those that used most. */
static void add_processes(struct strbuf *b, const struct session_result *r)
{
    for (size_t i = 0; i < r->figures.count && i < PROCESSES_SHOWN; i++) {
        const struct profile *p = &r->recording->profiles.items[i];
        strbuf_puts(b, "  ");
        if (p->sampling.cpu_period_ns)
            unit_ms(b, (int64_t)r->figures.items[i].sampled.cpu_ns);
        if (p->sampling.fault_period) {
            say(b, "%r%N fault(s)", p->sampling.cpu_period_ns ? ", " : "",
                r->figures.items[i].sampled.faults);
        }
        strbuf_printf(b, "  %u ", (unsigned)p->pid);
        summary_command(p, 60, b);
        strbuf_putc(b, '\n');
    }
}

static int read_back(const struct session_result *result, const char *name,
                     const struct reader_choice *choice, struct recording **out, struct err *err)
{
    const struct strbuf *passed_on = &result->passed_on;
    return passed_on->size
               ? recording_parse_some(passed_on->data, passed_on->size, name, choice, out, err)
               : recording_read_some(name, choice, out, err);
}

/* The limit of unpacked bytes. */
static uint64_t read_back_most(const struct profile *program)
{
    uint64_t share = program->duration_ns / FINDINGS_SHARE;
    uint64_t most = (share > FINDINGS_NS ? share : FINDINGS_NS) / FINDINGS_BYTE_NS;
    return most < READ_BACK_MOST ? most : READ_BACK_MOST;
}

/* Adds the first few findings, from the file that was written, so that everybody finds the same in
 * it. A file for which that takes too long is not read, and reporting must not take more memory
 * than recording. */
static void add_findings(struct strbuf *b, const struct session_result *result, struct strbuf *next)
{
    const struct strbuf *passed_on = &result->passed_on;
    const char *file = passed_on->size ? "FILE" : result->file;
    const struct profile *p;
    struct recording *r = NULL;
    struct findings_all findings;
    struct query query;
    struct err err;
    if (answer_process(result->recording, NULL, &p, NULL))
        return;
    struct reader_choice choice = {.process = READER_ALL,
                                   .most = read_back_most(answer_program(result->recording))};
    int code = read_back(result, file, &choice, &r, &err);
    if (code == -E2BIG) {
        choice.process = (uint32_t)(p - result->recording->profiles.items);
        code = read_back(result, file, &choice, &r, &err);
    }
    struct strbuf word = {0}; /* the file as a word for a shell */
    next_file(&word, file);
    if (code == -E2BIG)
        strbuf_printf(b, "  what stands out: tidemark findings %s\n", word.data);
    if (code) {
        strbuf_release(&word);
        return;
    }
    query_init(&query);
    query.filter.presets = true; /* as tidemark findings does */
    code = findings_all_init(&findings, r, &query, FINDINGS_NS, &err);
    bool shows_mapped = false;
    for (size_t i = 0; !code && i < findings.list.count && i < FINDINGS_SHOWN; i++)
        shows_mapped |= findings.list.items[i].own->kind == FINDING_MAPPED;
    if (!shows_mapped)
        add_mapped(b, r, word.data);
    add_lost(b, r, word.data);
    if (code == 0) {
        add_lost_by_others(b, r, word.data);
        findings_brief(&findings, file, FINDINGS_SHOWN, b);
        if (findings.list.count || findings.cut_lost_blocks)
            findings_next(&findings, file, next);
        findings_all_release(&findings);
    }
    query_release(&query);
    recording_free(r);
    strbuf_release(&word);
}

/* `finding`: the command of the first finding, or empty. */
static void add_next(struct strbuf *b, const char *file, const struct profile *p,
                     const struct strbuf *finding)
{
    strbuf_puts(b, "next: ");
    if (finding->size) {
        strbuf_puts(b, finding->data);
    } else { /* when Python has ended, its memory has been freed */
        strbuf_puts(b, "tidemark report ");
        next_file(b, file);
        strbuf_puts(b, p->python_version ? " --metric peak" : "");
    }
    strbuf_putc(b, '\n');
}

/* The last line is what to do next. A device cannot be read back. */
void run_show_summary(const struct session_result *r, bool all)
{
    uint64_t lost = r->lost_events, truncated = r->truncated_stacks;
    uint64_t incomplete = r->incomplete_stacks;
    struct strbuf b = {0}, next = {0};
    const struct profile *p = NULL;
    answer_process(r->recording, NULL, &p,
                   NULL); /* there is one, even if only to say that nothing was recorded */
    add_figures(&b, r, p);
    if (lost) {
        say(&b, "  LOST: %N event(s)%r dropped; figures are too low\n", lost,
            lost == 1 ? " was" : " were");
    }
    if (truncated || incomplete) {
        say(&b, "  stacks: %N cut off, %N not followed to their end\n", truncated, incomplete);
    }
    add_notes(&b, r->recording, p);
    bool piped = r->file && r->file[0] == '|';
    bool is_device = r->file && !piped && !output_is_file(r->file);
    if (all && r->file && !piped)
        add_processes(&b, r);
    /* Findings are about the heap. */
    if (r->file && !is_device && !r->recording->profiles.items[0].sampling.alone)
        add_findings(&b, r, &next);
    if (piped)
        strbuf_printf(&b, "  passed to %s\n", r->file + 1);
    else if (r->file) {
        strbuf_puts(&b, "  written to ");
        unit_text(&b, r->file);
        strbuf_putc(&b, '\n');
        if (!is_device)
            add_next(&b, r->file, p, &next);
    }
    strbuf_release(&next);
    fputs(b.data, stderr);
    strbuf_release(&b);
}
