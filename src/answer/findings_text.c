/* The sentences of findings. */
#include <stdlib.h>
#include <string.h>

#include "analyse/work_end.h"
#include "base/say.h"
#include "model/name.h"
#include "answer/chains.h"
#include "answer/findings.h"
#include "answer/summary.h"
#include "answer/units.h"

static const char *function_of(const struct places *p, uint32_t call)
{
    return frame_table_string(&p->total.frames, places_frame(p, call)->name);
}

void place_function(const struct places *p, uint32_t call, struct strbuf *out)
{
    struct name_part bare = name_bare(function_of(p, call));
    char *text = xstrndup(bare.text, bare.size);
    struct strbuf clean = {0};
    say(&clean, "%s", text);
    name_shorten(out, clean.data, 60);
    strbuf_release(&clean);
    free(text);
}

void finding_function(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    struct name_part bare = name_bare(function_of(finding_places(f, n), n->call));
    char *text = xstrndup(bare.text, bare.size);
    summary_argument(out, text);
    free(text);
}

static void bytes_in_blocks(struct strbuf *out, int64_t bytes, int64_t count)
{
    say(out, "%B in %N block(s)", bytes, count);
}

static void percent(struct strbuf *out, double part, double whole)
{
    unit_percent(out, part, whole);
    strbuf_puts(out, " %");
}

static void add_of_resident(const struct finding *n, struct strbuf *out)
{
    say(out, ", of %B resident", n->of_bytes);
}

void finding_title(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    place_function(finding_places(f, n), n->call, out);
    switch (n->kind) {
    case FINDING_LEAK:
        strbuf_puts(out, " loses ");
        bytes_in_blocks(out, n->bytes, n->count);
        break;
    case FINDING_GROWTH:
        say(out, " grew by %B%r%r", n->bytes,
            n->mark                                       ? " up to the last mark"
            : work_end_of_python(f->places.total.profile) ? " until Python began to end"
                                                          : " until the end",
            n->never_less ? ", and never shrank" : "");
        if (n->freed_bytes > n->bytes / 100) {
            strbuf_puts(out, "; ");
            if (n->freed_bytes < n->bytes)
                unit_bytes(out, n->freed_bytes);
            strbuf_puts(out, n->freed_bytes < n->bytes ? " of it freed afterwards"
                                                       : "all of it freed afterwards");
        }
        break;
    case FINDING_PEAK:
        if (n->mapped == MAPPED_ARENAS)
            say(out, " holds %B in small Python objects, of the peak of %B", n->bytes, n->of_bytes);
        else
            say(out, " makes %B of the peak of %B", n->bytes, n->of_bytes);
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
        say(out, "%r%r%B%r", n->mapped == MAPPED_ARENAS ? " holds " : " mapped ",
            n->at_most ? "up to " : "", n->bytes,
            n->mapped == MAPPED_ARENAS   ? " in small Python objects"
            : n->mapped == MAPPED_SHARED ? " of shared memory"
                                         : " beside the heap");
        add_of_resident(n, out);
        break;
    case FINDING_RETAINED:
        say(out, " freed most of %B that the allocator keeps", n->bytes);
        add_of_resident(n, out);
        break;
    case FINDING_FRAGMENTED:
        say(out, " holds small blocks that keep %B of free memory", n->freed_bytes);
        add_of_resident(n, out);
        break;
    default:
        break;
    }
}

#define LOSES_ON    0.75 /* of the run: where the last was lost later, */
#define LOSES_PART  0.25 /* and they are spread over so much of it, it goes on */
#define LOSES_EARLY 0.5  /* of the run: none since is worth a word */

static void why_leak(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    const struct profile *p = f->places.total.profile;
    uint64_t run = p->duration_ns, last = n->last_ns ? n->last_ns - 1 : 0;
    int64_t direct = wrapped_less(n->count, n->led_count);
    if (n->late_bytes > n->bytes / 2) {
        strbuf_printf(out, "nothing points to %s since destructors ran; until then something did",
                      n->count == 1 ? "it" : "them");
    } else {
        strbuf_puts(out, "nothing in the program points to ");
        if (n->led_bytes > 0) {
            say(out, "%N block(s)%r%B, any more; the other %B%r", direct,
                direct == 1 ? " of " : " of them, ", wrapped_less(n->bytes, n->led_bytes),
                n->led_bytes,
                direct == 1 ? " are reachable only through it"
                            : " are reachable only through these");
        } else {
            strbuf_puts(out, n->count == 1 ? "it any more" : "them any more");
        }
    }
    say(out, "%r%T", n->count > 1 ? "; the first was allocated at " : "; it was allocated at ",
        n->first_ns);
    if (last <= n->first_ns)
        return;
    if (work_end_ns(p) < run) /* the look for lost blocks takes its time, but is no work */
        run = work_end_ns(p) > last ? work_end_ns(p) : last;
    say(out, ", the last at %T of %T", last, run);
    if ((double)last >= LOSES_ON * (double)run &&
        (double)(last - n->first_ns) >= LOSES_PART * (double)run)
        strbuf_puts(out, ": a longer run loses more");
    else if ((double)last < LOSES_EARLY * (double)run)
        strbuf_puts(out, ": none since");
}

static void why_growth(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    strbuf_printf(out, "its live bytes rose %s the time", n->never_less ? "all" : "most of");
    if (n->mark) {
        say(out, ", by %B for each mark '%s' after the first ones", n->per_mark, n->mark);
    } else {
        strbuf_puts(out, " up to the end of the run");
    }
    strbuf_puts(out, "; they are ");
    percent(out, (double)n->bytes, (double)n->of_bytes);
    strbuf_puts(out, n->domain == DOMAIN_POOL ? " of what was resident, in a pool of its own"
                                              : " of the peak");
    if (!f->basis.reach_known && n->domain != DOMAIN_POOL)
        strbuf_puts(out, "; whether anything still points to them is not known");
}

#define FEWER_OBJECTS "keep fewer objects, or larger ones: arrays, __slots__, tuples"

static void why_peak(const struct finding *n, struct strbuf *out)
{
    strbuf_puts(out, "that is ");
    percent(out, (double)n->bytes, (double)n->of_bytes);
    say(out, " of the process's peak of %B", n->of_bytes);
    if (n->share > 0) {
        strbuf_puts(out, ", and the heap is that high in only ");
        percent(out, n->share, 1);
        strbuf_puts(out, " of the run");
    }
}

static void why_churn(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    uint64_t ns = f->places.total.profile->duration_ns;
    say(out,
        "%N times a second it allocates a block, %B on average, and frees it before the next; that "
        "takes about ",
        ns ? (int64_t)((double)n->count * 1e9 / (double)ns) : 0,
        n->count ? n->bytes / n->count : 0);
    percent(out, n->share, 1);
    strbuf_puts(out, " of the time");
}

static void why_mapped(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    percent(out, (double)n->bytes, (double)n->of_bytes);
    say(out, " of resident memory at %T", n->moment_ns);
    if (n->mapped == MAPPED_ARENAS) {
        strbuf_puts(out, ", in Python's arenas, which are not blocks of the heap");
    } else {
        say(out, ": %N mapping(s) of its own, not blocks of the heap", n->count);
    }
    if (n->per_mark > 0) {
        say(out, "; it grows by %B for each mark '%s'", n->per_mark, n->mark);
    }
    if (n->at_most)
        strbuf_puts(out,
                    "; more is mapped than is resident, so some of it may belong to other code");
    (void)f;
}

static void why_retained(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    const struct footprint *look = f->basis.look;
    say(out,
        "%B of its blocks at the peak were freed by %T, but the allocator did not return the pages "
        "to the system",
        n->freed_bytes, n->moment_ns);
    if (n->bytes > n->freed_bytes && look->arenas > 1)
        strbuf_printf(out, "; threads have arenas of their own: there are %u arenas",
                      (unsigned)look->arenas);
    if (n->count > 0) {
        say(out, "; malloc_trim(0) would release about %B", n->count);
    }
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
    case FINDING_CHURN:
        why_churn(f, n, out);
        break;
    case FINDING_OVERSIZED:
    case FINDING_UNTOUCHED:
        percent(out, (double)n->bytes, (double)n->of_bytes);
        strbuf_puts(out, " of its bytes are on pages that were never touched: they only cost "
                         "address space and page tables");
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
        why_mapped(f, n, out);
        break;
    case FINDING_RETAINED:
        why_retained(f, n, out);
        break;
    case FINDING_FRAGMENTED:
        say(out,
            "the allocator keeps %B of free memory, because %B of its blocks are on %B of these "
            "pages, at %T",
            n->bytes, n->pinning_bytes, n->freed_bytes, n->moment_ns);
        break;
    default:
        break;
    }
}

void finding_do(const struct findings *f, const struct finding *n, struct strbuf *out)
{
    switch (n->kind) {
    case FINDING_LEAK:
        strbuf_printf(out,
                      "free %s last owner goes away; 'tidemark leaks' shows every stack, 'tidemark "
                      "leaks --fail' checks it in a test",
                      n->count == 1 ? "it where its" : "them where their");
        break;
    case FINDING_GROWTH:
        strbuf_puts(out, "give it a limit, or clear it between events; 'tidemark report --since' "
                         "between two moments shows what was added");
        break;
    case FINDING_PEAK:
        strbuf_puts(out, n->mapped == MAPPED_ARENAS ? FEWER_OBJECTS
                         : n->share > 0 ? "work in smaller pieces, or free the old data first"
                                        : "check whether all of it is needed at the same time");
        break;
    case FINDING_CHURN:
        strbuf_puts(out, "keep one buffer outside the loop that calls ");
        place_function(finding_places(f, n), n->call, out);
        strbuf_puts(out, ", or use the stack");
        break;
    case FINDING_OVERSIZED:
        strbuf_puts(out, "allocate only what is used, or grow on demand");
        break;
    case FINDING_UNTOUCHED:
        strbuf_puts(out, "allocate it when it is first needed");
        break;
    case FINDING_OVERHEAD:
        strbuf_puts(out, "allocate many at once: an array, or a pool");
        break;
    case FINDING_CHAIN:
        chain_advice(&f->places, n->chain, (struct chain_events){0}, out);
        break;
    case FINDING_MAPPED:
        strbuf_puts(out, n->mapped == MAPPED_ARENAS
                             ? FEWER_OBJECTS
                             : "unmap it after its last use, or map less at a time");
        break;
    case FINDING_RETAINED:
        strbuf_puts(out, "call malloc_trim(0) after such a phase, or work in smaller pieces");
        if (n->bytes > n->freed_bytes && f->basis.look->arenas > 1)
            strbuf_puts(out, "; MALLOC_ARENA_MAX limits the arenas");
        break;
    case FINDING_FRAGMENTED:
        strbuf_puts(
            out, "allocate long-lived blocks before short-lived ones, or from a pool of their own");
        break;
    default:
        break;
    }
}

void place_words(const struct places *p, uint32_t call, struct strbuf *out)
{
    const struct call_frame *frame = places_frame(p, call);
    const char *text = frame->file     ? frame_table_string(&p->total.frames, frame->file)
                       : frame->module ? frame_table_string(&p->total.frames, frame->module)
                                       : NULL;
    if (!text)
        return;
    const char *slash = strrchr(text, '/');
    say(out, " %s", slash ? slash + 1 : text);
    if (frame->file && frame->line)
        strbuf_printf(out, ":%u", (unsigned)frame->line);
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

/* main is where everybody's way ends; what called it is libc's. */
static bool is_start(const struct places *p, const struct finding *n, uint32_t call)
{
    return call != n->leaf && strncmp(function_of(p, call), "__libc_start", 12) == 0;
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
