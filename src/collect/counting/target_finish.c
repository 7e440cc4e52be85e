/*
 * What is done when a process has ended, or when a file is written while it runs: closes the last
 * interval, and makes the profile for the file. The program, or the user, waits for it, so what
 * takes long is done on several threads.
 *
 * collect/session/process_end.c notices the end of a process and calls target_end (target.c), which
 * calls target_pause here; collect/session/saving.c calls target_pause for processes that go on.
 * target_finish_stacks and target_finish are called by collect/session/packing.c.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/counting/heap_peak.h"
#include "collect/counting/target.h"

#define WORTH_A_THREAD 20000 /* sites */

/* After the destructors libc frees blocks of its own. What is allocated since then, if anything, is
 * in the intervals that follow. */
static bool was_seen_to_end(struct target *t)
{
    struct live_summary *last = t->scan.results.count ? vec_last(&t->scan.results) : NULL;
    if (!last || last->scan.kind != SCAN_END)
        return false;
    if (last->events == t->events)
        last->scan.intervals = target_tick(t);
    else
        live_summary_forget_freed(last, t);
    return true;
}

/* Sums up what is live at the end, on another thread if that takes long. */
struct last_summary {
    struct live_derivation derivation;
    pthread_t deriver;
    bool beside;
};

static void *derive(void *derivation)
{
    live_derivation_run(derivation);
    return NULL;
}

/* The index of a running program need not be that of this moment. */
static void last_summary_begin(struct last_summary *k, struct target *t, uint64_t now_ns)
{
    struct live_derivation *d = &k->derivation;
    k->beside = false;
    if (live_summary_take(&d->summary, t, SCAN_END, now_ns))
        return;
    live_summary_release(&d->summary);
    live_derivation_begin(d, t, SCAN_END, now_ns);
    k->beside = t->ledger.accounts.count > WORTH_A_THREAD &&
                pthread_create(&k->deriver, NULL, derive, d) == 0;
    if (!k->beside)
        live_derivation_run(d);
}

static void last_summary_end(struct last_summary *k, struct target *t)
{
    if (k->beside)
        pthread_join(k->deriver, NULL);
    *vec_push(&t->scan.results) = k->derivation.summary;
}

void target_pause(struct target *t, uint64_t now_ns)
{
    struct last_summary last;
    if (t->header) {
        for (size_t i = 0; i < t->readers.count && !t->accounts.frozen.is; i++)
            accounts_read_unreported(t, &t->readers.items[i], true);
        accounts_take_counters(t);
        heap_peak_end_interval(t, target_tick(t));
    }
    bool sums_up = t->size && !was_seen_to_end(t); /* otherwise nothing is known about its heap */
    if (sums_up)
        last_summary_begin(&last, t, now_ns);
    if (t->header && !t->accounts.frozen.is)
        heap_peak_settle(t, now_ns);
    if (sums_up)
        last_summary_end(&last, t);
    if (t->header)
        untouched_settle(t);
    interval_log_close(&t->timeline, &t->ledger, now_ns, target_tick(t), false);
    interval_log_settle(&t->timeline, &t->ledger);
    heap_peak_settle_ends(t);
    t->profile.duration_ns = now_ns;
    if (!t->header)
        return;
    t->profile.waits = t->growths_left_out = 0;
    for (size_t i = 0; i < t->readers.count; i++) {
        t->profile.waits += atomic_load(&t->readers.items[i].ring->waits);
        t->growths_left_out += atomic_load(&t->readers.items[i].ring->growths_left_out);
    }
    t->unfollowed = atomic_load(&t->header->unfollowed);
    t->entries_taken = atomic_load(&t->header->entries_taken);
    t->end = atomic_load(&t->header->end);
    t->was_joined = atomic_load(&t->header->own[0].start) != 0;
    t->python.state = atomic_load(&t->header->python);
    t->python.version = atomic_load(&t->header->python_version);
    t->python.objects_state = atomic_load(&t->header->objects);
    t->gpu_hooked = atomic_load(&t->header->gpu_hooked);
    t->gpu_refused = atomic_load(&t->header->gpu_refused) & ~t->gpu_hooked;
    target_update_code(t);
}

void target_explain(struct target *t, const char *format, ...)
{
    struct scan *last = t->scan.results.count ? &vec_last(&t->scan.results)->scan : NULL;
    char text[256];
    va_list values;
    if (!last || last->kind != SCAN_END || vec_last(&t->scan.results)->looked || last->unreachable)
        return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    last->unreachable = xstrdup(text);
}

void target_finish_stacks(struct target *t)
{
    ledger_close(&t->ledger);
    accounts_release(&t->accounts);
    program_stacks_settle(&t->program_stacks, &t->ledger, &t->profile);
    t->sampled.joined = sampled_tree_join(&t->sampled.stacks, &t->profile);
}

/* Says what the figures lack, and why. */
static void add_notes(struct target *t)
{
    struct profile *p = &t->profile;
    if (t->unfollowed)
        *vec_push(&p->notes) = xasprintf(
            "%u child process%s could not reach the collector, for want of a file descriptor, "
            "because of a seccomp filter, or from another network namespace",
            t->unfollowed,
            t->unfollowed == 1 ? " was not recorded: it" : "es were not recorded: they");
    char *python = python_note(t->python.state, t->python.version);
    if (python)
        *vec_push(&p->notes) = python;
    char *objects = t->python.objects_wanted
                        ? python_objects_note(t->python.state, t->python.objects_state)
                        : NULL;
    if (objects)
        *vec_push(&p->notes) = objects;
    char *frees = t->unannounced_frees == 1 ? xstrdup(", nor is 1 free of such a block")
                  : t->unannounced_frees    ? xasprintf(", nor are %llu frees of such blocks",
                                                        (unsigned long long)t->unannounced_frees)
                                            : xstrdup("");
    if (t->was_dormant || t->stops)
        *vec_push(&p->notes) = xasprintf(
            "the recorder was dormant for a while: blocks allocated then are not counted%s%s%s",
            frees,
            t->attached && t->unannounced_frees ? " or of blocks from before the attach" : "",
            t->stops ? "; what was freed after a stop counts as live (--at stopped is exact)" : "");
    else if (t->was_paused && p->sampling.alone)
        *vec_push(&p->notes) =
            xstrdup("recording was paused for a while: there are no samples of that time");
    else if (t->was_paused)
        *vec_push(&p->notes) = xasprintf(
            "recording was paused for a while: allocations made then are not counted%s%s", frees,
            !t->attached           ? ""
            : t->unannounced_frees ? " or of blocks from before the attach"
                                   : "; what is left of them is counted as from before the attach");
    free(frees);
    if (t->gpu_refused)
        *vec_push(&p->notes) = xasprintf(
            "memory of graphics processors was not recorded as %s: the functions could not be "
            "hooked%s",
            t->gpu_refused == WIRE_GPU_DRIVER    ? "CUDA's driver gives it"
            : t->gpu_refused == WIRE_GPU_TENSORS ? "PyTorch divides it"
                                                 : "CUDA's driver gives it and PyTorch divides it",
            t->attached ? "; libraries that are loaded after the attach are left alone" : "");
    if (t->timeline.not_kept)
        *vec_push(&p->notes) = xasprintf(
            "the moments of %zu marks are not exact: --at and --since are exact for the first "
            "%zu marks, later ones take the figures of the nearest interval",
            t->timeline.not_kept, t->timeline.kept);
    if (t->growths_left_out)
        *vec_push(&p->notes) = xasprintf(
            "the collector had no time for %llu steps of arrays that may have grown: figures of "
            "arrays that grow may be too low",
            (unsigned long long)t->growths_left_out);
    if (t->missed_frees)
        *vec_push(&p->notes) = xasprintf(
            "%llu blocks were freed in a way that could not be seen; their addresses came up again",
            (unsigned long long)t->missed_frees);
}

static void finish_gpu(struct target *t)
{
    static const uint32_t bit[GPU_VIEWS] = {
        [GPU_DRIVER] = WIRE_GPU_DRIVER, [GPU_TENSORS] = WIRE_GPU_TENSORS};
    for (int view = 0; view < GPU_VIEWS; view++) {
        const struct gpu_total *g = &t->ledger.gpu[view];
        t->profile.gpu[view] = (struct gpu_figures){.known = t->gpu_hooked & bit[view],
                                                    .peak_bytes = g->peak.bytes,
                                                    .peak_blocks = g->peak.blocks,
                                                    .peak_ns = g->peak_ns};
    }
}

void target_finish(struct target *t)
{
    struct profile *p = &t->profile;
    ledger_histograms(&t->ledger, p);
    untouched_finish(t);
    realloc_chains_finish(t);
    for (size_t i = 0; i < t->scan.results.count; i++)
        live_summary_finish(&t->scan.results.items[i], t);
    for (size_t i = 0; i < t->timeline.slices.count; i++)
        *vec_push(&p->intervals) = t->timeline.slices.items[i].interval;
    if (t->python.state == WIRE_PYTHON_ON || t->python.state == WIRE_PYTHON_FULL)
        p->python_version = t->python.version;
    p->python_objects = p->python_version && t->python.objects_state == WIRE_OBJECTS_ON;
    if (t->python.end_tick)
        p->python_end = interval_log_find(&t->timeline, t->python.end_tick - 1);
    p->peak_bytes = t->ledger.peak_bytes;
    p->peak_blocks = t->ledger.peak_blocks;
    finish_gpu(t);
    add_notes(t);
}
