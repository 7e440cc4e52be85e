/* The sentences of findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "model/function_name.h"
#include "answer/realloc_chains.h"
#include "answer/findings.h"
#include "answer/location.h"
#include "answer/place_columns.h"
#include "answer/summary.h"
#include "base/units.h"

static const char *function_of(const struct places *p, uint32_t call)
{
    return placed_name(&(struct placed){p, call, 0});
}

void place_function(const struct places *p, uint32_t call, struct strbuf *out)
{
    location_bare_name(out, function_of(p, call), 60);
}

void finding_function(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    struct name_part bare = name_bare(function_of(finding_places(f, n), n->call));
    char *text = xstrndup(bare.text, bare.size);
    summary_argument(out, text);
    free(text);
}

/* The function, with its caller if it has others: the figures are of this caller only. */
static void title_function(const struct places *p, uint32_t call, struct strbuf *out)
{
    uint32_t caller = p->total.tree.parent.items[call];
    place_function(p, call, out);
    if (!caller || !places_has_other_callers(p, call))
        return;
    strbuf_puts(out, ", called by ");
    place_function(p, caller, out);
    strbuf_putc(out, ',');
}

static double percent_of(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole * 100 : 0;
}

static void title_growth(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    say(out, " grew by %B %r%r", n->bytes,
        n->mark         ? "up to the last mark"
        : f->end.python ? "until Python began to end"
                        : "until the end",
        !n->never_less ? ""
        : n->mark      ? ", and never shrank from one to the next"
                       : ", and never shrank");
    if (n->freed_bytes <= n->bytes / 100)
        return;
    if (n->freed_bytes < n->bytes)
        say(out, "; %B of it freed afterwards", n->freed_bytes);
    else
        strbuf_puts(out, "; all of it freed afterwards");
}

void finding_title(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    bool arenas = n->mapped == MAPPED_ARENAS;
    title_function(finding_places(f, n), n->call, out);
    switch (n->kind) {
    case FINDING_LEAK:
        say(out, " loses %B in %N block(s)", n->bytes, n->count);
        break;
    case FINDING_GROWTH:
        title_growth(f, n, out);
        break;
    case FINDING_PEAK:
        say(out,
            arenas ? " holds %B in small Python objects, of the peak of %B"
                   : " makes %B of the peak of %B",
            n->bytes, n->of_bytes);
        break;
    case FINDING_CHURN:
        say(out, " allocates and frees at once, %N time(s)", n->count);
        break;
    case FINDING_OVERSIZED:
        say(out, " never touches %B of the %B it holds", n->bytes, n->of_bytes);
        break;
    case FINDING_UNTOUCHED:
        say(out, " holds %B that were never touched", n->bytes);
        break;
    case FINDING_OVERHEAD:
        say(out, " wastes %B on the rounding of small blocks", n->bytes);
        break;
    case FINDING_CHAIN:
        say(out, " grows a buffer step by step, and copies %B", n->bytes);
        break;
    case FINDING_MAPPED:
        say(out, " %r %r%B %r, of %B resident", arenas ? "holds" : "mapped",
            n->at_most ? "up to " : "", n->bytes,
            arenas                       ? "in small Python objects"
            : n->mapped == MAPPED_SHARED ? "of shared memory"
                                         : "beside the heap",
            n->of_bytes);
        break;
    case FINDING_RETAINED:
        if (n->freed_bytes >= n->bytes / 2)
            say(out, " held most of the %B that the allocator keeps free", n->bytes);
        else
            say(out, " held %B of the %B that the allocator keeps free", n->freed_bytes, n->bytes);
        say(out, ", of %B resident", n->of_bytes);
        break;
    case FINDING_FRAGMENTED:
        say(out, " holds small blocks that keep %B of free memory, of %B resident", n->bytes,
            n->of_bytes);
        break;
    case FINDING_GPU:
        say(out, " holds %B of the %B of GPU memory at its peak", n->bytes, n->of_bytes);
        break;
    default:
        break;
    }
}

/* A leak continues if its last block was lost after this share of the run, and if the time between
 * its first and its last block is at least this share of it. */
#define LOSES_ON   0.75
#define LOSES_PART 0.25
/* A leak happened early if no block was lost after this share of the run. */
#define LOSES_EARLY 0.5

static void why_leak(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    const struct profile *p = f->places.total.profile;
    uint64_t run = p->duration_ns, last = n->last_ns ? n->last_ns - 1 : 0;
    int64_t direct = wrapped_less(n->count, n->led_count);
    const char *them = n->count == 1 ? "it" : "them";
    if (n->late_bytes > n->bytes / 2)
        say(out, "nothing points to %r since destructors ran; until then something did", them);
    else if (n->led_bytes > 0)
        say(out,
            "nothing in the program points to %N block(s)%r%B, any more; the other %B are "
            "reachable "
            "only through %r",
            direct, direct == 1 ? " of " : " of them, ", wrapped_less(n->bytes, n->led_bytes),
            n->led_bytes, direct == 1 ? "it" : "these");
    else
        say(out, "nothing in the program points to %r any more", them);
    if (p->merge)
        return; /* a merge does not keep when blocks were allocated */
    say(out, "; %r was allocated at %T", n->count > 1 ? "the first" : "it", n->first_ns);
    if (last <= n->first_ns)
        return;
    if (f->end.time_ns < run) /* the leak scan takes time, but is not part of the program's work */
        run = f->end.time_ns > last ? f->end.time_ns : last;
    bool continues = (double)last >= LOSES_ON * (double)run &&
                     (double)(last - n->first_ns) >= LOSES_PART * (double)run;
    say(out, ", the last at %T of %T%r", last, run,
        continues                                  ? ": a longer run loses more"
        : (double)last < LOSES_EARLY * (double)run ? ": none since"
                                                   : "");
}

static void why_growth(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    if (n->mark) /* what it had between the marks is not looked at */
        say(out,
            "its live bytes rose from %r to the next, by %B for each mark '%s' after the first "
            "ones",
            n->never_less ? "each mark" : "most marks", n->per_mark, n->mark);
    else
        say(out, "its live bytes rose %r the time up to the end of the run",
            n->never_less ? "all" : "most of");
    say(out, "; they are %P %% of %r%r", percent_of(n->bytes, n->of_bytes),
        n->domain == DOMAIN_POOL ? "what was resident, in a pool of its own" : "the peak",
        !f->basis.reach_known && n->domain != DOMAIN_POOL
            ? "; whether anything still points to them is not known"
            : "");
}

static void why_peak(const struct finding *n, struct strbuf *out)
{
    say(out, "that is %P %% of the process's peak of %B", percent_of(n->bytes, n->of_bytes),
        n->of_bytes);
    if (n->share > 0)
        say(out, ", and the heap is that high in only %P %% of the run", n->share * 100);
}

static void why_mapped(const struct finding *n, struct strbuf *out)
{
    say(out, "%P %% of resident memory at %T", percent_of(n->bytes, n->of_bytes), n->moment_ns);
    if (n->mapped == MAPPED_ARENAS)
        strbuf_puts(out, ", in Python's arenas, which are not blocks of the heap");
    else
        say(out, ": %N mapping(s) of its own, not blocks of the heap", n->count);
    if (n->per_mark > 0)
        say(out, "; it grows by %B for each mark '%s'", n->per_mark, n->mark);
    if (n->at_most)
        strbuf_puts(out,
                    "; more is mapped than is resident, so some of it may belong to other code");
}

static bool by_many_arenas(const struct findings *f, const struct finding *n)
{
    return n->bytes > n->freed_bytes && f->basis.footprint->arenas > 1;
}

static void why_retained(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    say(out,
        "%B of its blocks were live at the peak and were freed before %T, but the allocator did "
        "not return the pages to the system",
        n->freed_bytes, n->moment_ns);
    if (by_many_arenas(f, n))
        say(out, "; threads have their own: there are %d arenas", f->basis.footprint->arenas);
    if (n->count > 0)
        say(out, "; malloc_trim(0) would release about %B", n->count);
}

static void why_gpu(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    const struct profile *p = f->places.total.profile;
    enum metric metric = finding_gpu_metric(f);
    say(out, "%N block(s) at %T", n->count, gpu_figures_of(p, metric)->peak_ns);
    if (metric == METRIC_TENSOR && p->gpu[GPU_DRIVER].peak_bytes)
        say(out, "; the program had up to %B from the driver, for tensors and everything else",
            p->gpu[GPU_DRIVER].peak_bytes);
}

void finding_why(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    switch (n->kind) {
    case FINDING_LEAK:
        why_leak(f, n, out);
        break;
    case FINDING_GROWTH:
        why_growth(f, n, out);
        break;
    case FINDING_PEAK:
        why_peak(n, out);
        break;
    case FINDING_CHURN: {
        double seconds = (double)f->places.total.profile->duration_ns / 1e9;
        say(out,
            "%N times a second it allocates a block, %B on average, and frees it before the next; "
            "that takes about %P %% of the time",
            seconds > 0 ? floor((double)n->count / seconds) : 0, n->count ? n->bytes / n->count : 0,
            n->share * 100);
        break;
    }
    case FINDING_OVERSIZED:
    case FINDING_UNTOUCHED:
        say(out,
            "%P %% of its bytes are on pages that were never touched: they only cost address space "
            "and page tables",
            percent_of(n->bytes, n->of_bytes));
        break;
    case FINDING_OVERHEAD:
        say(out,
            "at the peak it has %N block(s) of %B on average; the allocator rounds each one up and "
            "adds a header",
            n->count, n->count ? n->of_bytes / n->count : 0);
        break;
    case FINDING_CHAIN:
        say(out,
            "it grew %N time(s), up to %B, in %N array(s); each time the content is copied, and "
            "both blocks are live meanwhile",
            n->count, n->of_bytes, n->chain->of.chains);
        break;
    case FINDING_MAPPED:
        why_mapped(n, out);
        break;
    case FINDING_RETAINED:
        why_retained(f, n, out);
        break;
    case FINDING_FRAGMENTED:
        say(out,
            "the allocator keeps %B of free memory; %B of it is on pages that also hold these "
            "blocks (%B in all), at %T",
            n->kept_bytes, n->bytes, n->pinning_bytes, n->moment_ns);
        break;
    case FINDING_GPU:
        why_gpu(f, n, out);
        break;
    default:
        break;
    }
}

void finding_do(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    static const char *const advice[FINDING_KINDS] = {
        [FINDING_GROWTH] = ("give it a limit, or clear it between events; 'tidemark report "
                            "--since' between two moments shows what was added"),
        [FINDING_PEAK] = "check whether all of it is needed at the same time",
        [FINDING_OVERSIZED] = "allocate only what is used, or grow on demand",
        [FINDING_UNTOUCHED] = "allocate it when it is first needed",
        [FINDING_OVERHEAD] = "allocate many at once: an array, or a pool",
        [FINDING_MAPPED] = "unmap it after its last use, or map less at a time",
        [FINDING_RETAINED] = "call malloc_trim(0) after such a phase, or work in smaller pieces",
        [FINDING_FRAGMENTED] =
            "allocate long-lived blocks before short-lived ones, or from a pool of their own",
        [FINDING_GPU] = "check whether all of it is needed at the same time; smaller batches, "
                        "lower precision or recomputing take less",
    };
    if (n->kind == FINDING_LEAK) {
        say(out,
            "free %r last owner goes away; 'tidemark leaks' shows every stack, 'tidemark leaks "
            "--fail' checks it in a test",
            n->count == 1 ? "it where its" : "them where their");
    } else if (n->kind == FINDING_CHURN) {
        strbuf_puts(out, "keep one buffer outside the loop that calls ");
        place_function(finding_places(f, n), n->call, out);
        strbuf_puts(out, ", or use the stack");
    } else if (n->kind == FINDING_CHAIN) {
        chain_advice(&f->places, n->chain, (struct chain_events){0}, out);
    } else if (n->mapped == MAPPED_ARENAS &&
               (n->kind == FINDING_PEAK || n->kind == FINDING_MAPPED)) {
        strbuf_puts(out, "keep fewer objects, or larger ones: arrays, __slots__, tuples");
    } else if (n->kind == FINDING_PEAK && n->share > 0) {
        strbuf_puts(out, "work in smaller pieces, or free the old data first");
    } else if (n->kind == FINDING_RETAINED && !n->count) { /* of another allocator than glibc's */
        strbuf_puts(out, "work in smaller pieces; the allocator may have a setting that returns "
                         "memory earlier");
    } else {
        strbuf_puts(out, advice[n->kind]);
        if (n->kind == FINDING_RETAINED && by_many_arenas(f, n))
            strbuf_puts(out, "; MALLOC_ARENA_MAX limits the arenas");
    }
}

void place_words(const struct places *p, uint32_t call, struct strbuf *out)
{
    const struct call_frame *frame = places_frame(p, call);
    strbuf_puts(out, frame->file || frame->module ? " " : "");
    location_of_frame(out, &p->total.frames, frame);
}

void finding_place(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    const struct places *p = finding_places(f, n);
    uint32_t own = places_own(p, n->call);
    place_words(p, n->call, out);
    if (own == n->call)
        return;
    strbuf_puts(out, ", for ");
    place_function(p, own, out);
    place_words(p, own, out);
}

/* main is in every call path; what called it belongs to libc. */
static bool is_start(const struct places *p, const struct finding *n, uint32_t call)
{
    return call != n->leaf && text_begins(function_of(p, call), "__libc_start");
}

void finding_path(const struct findings *f, const struct finding *n, size_t width,
                  struct strbuf *out)
{
    const struct places *p = finding_places(f, n);
    const struct call_tree *t = &p->total.tree;
    uint32_t own = places_own(p, n->call);
    size_t used = 0;
    for (uint32_t call = n->leaf; call && !is_start(p, n, call); call = t->parent.items[call]) {
        struct strbuf step = {0};
        strbuf_puts(&step, call == n->leaf ? "" : " < ");
        place_function(p, call, &step);
        if (call == n->call || call == own)
            place_words(p, call, &step);
        size_t columns = unit_columns(step.data);
        if (used && used + columns + 4 > width) {
            strbuf_puts(out, " ...");
            strbuf_release(&step);
            return;
        }
        strbuf_puts(out, step.data);
        used += columns;
        strbuf_release(&step);
    }
}
