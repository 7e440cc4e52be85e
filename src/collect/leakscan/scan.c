#include "collect/leakscan/scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/say.h"
#include "collect/leakscan/roots.h"
#include "collect/leakscan/ruby_end.h"
#include "collect/leakscan/scan_forked.h"
#include "collect/proc/stop_threads.h"
#include "collect/proc/kernel_pointers.h"
#include "collect/resident/process_sizes.h"
#include "machine/page.h"

#define TRIES       50 /* how often threads are stopped, until none is in the middle of realloc */
#define TRY_NAP_NS  200000
#define LEAKS_LABEL "leaks"
#define FORESEEN    (UINT64_C(1) << 24) /* blocks: a limit, in case the program reports nonsense */

/* What a scan costs, in ns of processor time. */
#define COST_PAGE  150 /* to find out whether a page is shared */
#define COST_BYTE  1   /* to read a byte */
#define COST_BLOCK 100 /* to read a block */
#define COST_REACH 75  /* to follow a block's pointers afterwards, and to sum it up */
#define PAGE       page_bytes()

static uint64_t since_start_ns(const struct target *t)
{
    return monotonic_ns() - t->start_monotonic_ns;
}

void scan_prepare(struct target *t, uint64_t thread_pointer)
{
    struct memory m = {0};
    /* A forked process has its parent's. */
    if (t->scan.loader.items.count || memory_map(&m, t->pid, NULL) != 0)
        return;
    roots_at_start(&m, thread_pointer, &t->scan.loader);
    memory_release(&m);
}

/* --- while the process is stopped ------------------------------------------------------------- */

/* Is a thread in the middle of realloc? Then nobody knows where its block is, with all its
 * pointers. */
static bool is_reallocating(const struct target *t)
{
    for (size_t i = 0; i < t->readers.count; i++)
        if (atomic_load(&t->readers.items[i].ring->reallocating) && !t->readers.items[i].damaged)
            return true;
    return false;
}

static void mark_moment(struct scanning *s)
{
    struct target *t = s->target;
    s->time_ns = since_start_ns(t);
    if (s->kind == SCAN_ASKED)
        process_sizes_mark(t, LEAKS_LABEL, s->time_ns);
    else if (s->kind == SCAN_EXIT)
        target_boundary_kept(t, s->time_ns);
    target_drain(t, s->time_ns);
    drain_counters(t);
    s->tick = s->kind == SCAN_END ? t->tick : t->tick - 1;
}

/* Adds the older blocks below an address at which a recorded block begins. */
static void add_older(struct scanning *s, uint64_t below)
{
    for (; s->older_next < s->older.items.count; s->older_next++) {
        struct address_range each = s->older.items.items[s->older_next];
        const struct reachability_block *last =
            s->reach.blocks.count ? vec_last(&s->reach.blocks) : NULL;
        if (each.start >= below)
            return;
        if (each.end > below || (last && last->address + last->size > each.start))
            continue; /* it contains a recorded block, or is part of one */
        reachability_add(&s->reach, each.start, each.end - each.start);
        *vec_push(&s->blocks) =
            (struct scanned_block){.size = each.end - each.start, .older = true};
    }
}

static void add_block(void *context, const struct block *b, bool inherited)
{
    struct scanning *s = context;
    if (inherited && s->memory.only_written)
        return;
    add_older(s, b->address);
    if (s->older_next < s->older.items.count &&
        s->older.items.items[s->older_next].start == b->address)
        s->older_next++;
    reachability_add(&s->reach, b->address, b->size);
    *vec_push(&s->blocks) = (struct scanned_block){.size = b->size,
                                                   .slack = (uint32_t)(b->usable - b->size),
                                                   .site = b->site,
                                                   .birth = b->birth,
                                                   .inherited = inherited};
}

/* What add_block was called for. */
static void lend_blocks(const void *lender, block_visit *visit, void *context)
{
    const struct scanning *s = lender;
    for (size_t i = 0; i < s->blocks.count; i++) {
        const struct scanned_block *b = &s->blocks.items[i];
        if (b->older)
            continue;
        struct block block = {.address = s->reach.blocks.items[i].address,
                              .size = b->size,
                              .usable = b->size + b->slack,
                              .site = b->site,
                              .birth = b->birth};
        visit(context, &block, b->inherited);
    }
}

static void gather_facts(const struct scanning *s, const struct stopped_threads *h,
                         struct root_facts *f)
{
    const struct target *t = s->target;
    f->memory = &s->memory;
    f->everything = target_may_lack_blocks(t) || s->in_flight;
    address_set_copy(&f->mapped, &t->scan.loader);
    address_set_copy(&f->mapped, &t->inheritance.maps);
    for (size_t i = 0; i < t->program_mmaps.items.count; i++)
        address_set_add(&f->mapped, t->program_mmaps.items.items[i].start,
                        t->program_mmaps.items.items[i].end);
    address_set_settle(&f->mapped);
    target_own(t, &f->own);
    if (s->waiting)
        *vec_push(&f->threads) =
            (struct root_thread){s->waiting->stack, s->waiting->thread_pointer};
    for (size_t i = 0; i < h->threads.count; i++)
        if (h->threads.items[i].stack)
            *vec_push(&f->threads) =
                (struct root_thread){h->threads.items[i].stack, h->threads.items[i].pointer};
}

/* Takes the pointers that only the kernel may hold: signal stacks, and values that epoll and timers
 * return. */
static void take_kernel_pointers(const struct target *t, struct reachability *reach)
{
    struct kernel_pointers k = {0};
    for (size_t i = 0; i < t->readers.count; i++)
        reachability_word(reach, atomic_load(&t->readers.items[i].ring->signal_stack));
    kernel_pointers_read(&k, t->pid);
    for (size_t i = 0; i < k.items.count; i++)
        reachability_word(reach, k.items.items[i]);
    kernel_pointers_release(&k);
}

static bool follow_pointers(struct scanning *s, const struct stopped_threads *h)
{
    struct target *t = s->target;
    struct root_facts facts = {0};
    uint64_t expected = block_index_count(t) + s->older.items.count;
    expected = expected < FORESEEN ? expected : FORESEEN;
    vec_reserve(&s->reach.blocks, expected);
    vec_reserve(&s->blocks, expected);
    if (s->memory.only_written ? !block_index_own(t, add_block, s)
                               : !block_index_each(t, add_block, s))
        return false;
    add_older(s, UINT64_MAX);
    reachability_ready(&s->reach, memory_read, &s->memory);
    if (!s->memory.only_written)
        block_index_lend(t, lend_blocks, s);
    s->reach.next = memory_next;
    s->reach.python_int_type = atomic_load(&t->header->python_int_type);
    reachability_note_begin(&s->reach);
    gather_facts(s, h, &facts);
    for (size_t i = 0; i < h->registers.count; i++)
        reachability_word(&s->reach, h->registers.items[i]);
    take_kernel_pointers(t, &s->reach);
    roots_take(&facts, &s->reach);
    if (s->memory.only_written)
        scan_forked_roots(t, &s->memory, &s->reach);
    reachability_note(&s->reach);
    address_set_release(&facts.mapped);
    address_set_release(&facts.own);
    vec_release(&facts.threads);
    return true;
}

/* The cost of reading memory and blocks, on each of the threads that read. */
static uint64_t reading_cost(uint64_t bytes, uint64_t blocks)
{
    return (bytes * COST_BYTE + blocks * COST_BLOCK) / reachability_threads(bytes);
}

static int refuse(struct scanning *s, uint64_t cost_ns, uint64_t blocks, struct err *err)
{
    struct strbuf text = {0};
    say(&text, "%N block(s) would have taken about %T", blocks, cost_ns);
    err_set(err, -ETIME,
            "to find out what points to %s, more than %s; 'tidemark run --scan=full' does it",
            text.data,
            s->target->forked ? "is left for the ends of forked processes"
                              : "the end of a process may take");
    strbuf_release(&text);
    s->left_out = true;
    return -ETIME;
}

static uint64_t last_rss(const struct target *t)
{
    return t->profile.stamps.count ? vec_last(&t->profile.stamps)->rss_bytes : 0;
}

/* Would the scan take too long, judged before anything is read? */
static bool is_too_costly(struct scanning *s)
{
    const struct target *t = s->target;
    uint64_t cost_ns =
        block_index_count(t) * COST_REACH + (t->forked ? last_rss(t) / PAGE * COST_PAGE : 0);
    struct err err = {0};
    if (!block_index_count(t) || cost_ns <= s->limit_ns)
        return false;
    refuse(s, cost_ns, block_index_count(t), &err);
    s->estimate_ns = block_index_count(t) * COST_REACH; /* the blocks are summed up nevertheless */
    s->unreachable = xstrdup(err.text);
    return true;
}

/* Are there any blocks to scan? */
static bool has_blocks(const struct scanning *s)
{
    return block_index_count(s->target) || s->older.items.count;
}

/* Returns 0 if the scan fits into its limit. */
static int check_cost(struct scanning *s, struct err *err)
{
    const struct target *t = s->target;
    uint64_t blocks = block_index_count(t), cost_ns = 0,
             bytes = address_set_bytes(&s->memory.resident) + s->memory.generated_bytes;
    if (s->limit_ns == UINT64_MAX)
        return 0;
    cost_ns =
        reading_cost(bytes, blocks) + (blocks + s->older.items.count) * (COST_REACH + COST_BLOCK);
    if (cost_ns > s->limit_ns)
        vec_release(&s->older.items); /* recorded blocks come first */
    blocks += s->older.items.count;
    cost_ns = 0;
    s->estimate_ns = blocks * COST_REACH;
    if (t->forked && !t->has_forked && s->memory.residency) {
        cost_ns = bytes / PAGE * COST_PAGE + blocks * COST_REACH;
        if (cost_ns > s->limit_ns)
            return refuse(s, cost_ns, blocks, err);
        s->estimate_ns = cost_ns;
        if (memory_find_written(&s->memory))
            bytes = address_set_bytes(&s->memory.written);
    }
    if (!s->memory.only_written)
        blocks += block_index_count_inherited(t);
    cost_ns += reading_cost(bytes, blocks) + blocks * COST_REACH;
    if (cost_ns > s->limit_ns)
        return refuse(s, cost_ns, blocks, err);
    s->estimate_ns = cost_ns;
    return 0;
}

/* --- summing up without reachability ---------------------------------------------------------- */

/* The bytes of a block that are not resident; `span` is the first range that does not end before
 * the block. */
static uint64_t untouched_of(const struct address_set *there, size_t *span, uint64_t address,
                             uint64_t size)
{
    uint64_t end = address + size, touched = 0;
    while (*span < there->items.count && there->items.items[*span].end <= address)
        ++*span;
    for (size_t i = *span; i < there->items.count && there->items.items[i].start < end; i++) {
        struct address_range s = there->items.items[i];
        touched += (s.end < end ? s.end : end) - (s.start > address ? s.start : address);
    }
    return size - touched;
}

struct plain_sum {
    struct scanning *scanning;
    size_t span;
};

static void sum_block(void *context, const struct block *b, bool inherited)
{
    struct plain_sum *k = context;
    struct scanning *s = k->scanning;
    if (inherited)
        return;
    uint64_t untouched =
        s->memory.residency ? untouched_of(&s->memory.resident, &k->span, b->address, b->size) : 0;
    live_summary_add(&s->summary, s->target, b, REACH_UNKNOWN, untouched);
}

/* Sums up the blocks without knowing what points to them. Their number and age can only be seen
 * now. If a process that begins to end has no time for it, target_pause does the same when it has
 * ended. */
static void sum_without_reachability(struct scanning *s)
{
    struct target *t = s->target;
    struct plain_sum k = {.scanning = s};
    if (s->left_out && s->kind == SCAN_EXIT)
        return; /* target_pause will sum up */
    live_summary_begin(&s->summary, t, s->kind, s->time_ns);
    if (!block_index_own(t, sum_block, &k)) {
        live_summary_release(&s->summary);
        live_summary_derive(&s->summary, t, s->kind, s->time_ns);
    }
    live_summary_close(&s->summary);
    s->summed = true;
}

/* Finds the blocks from before the recording. The program is not kept stopped for it if there would
 * be no time to scan them. */
static void find_older(struct scanning *s, const struct stopped_threads *h)
{
    uint64_t rss = last_rss(s->target);
    if (s->find_older && reading_cost(rss, 0) <= s->limit_ns &&
        !s->find_older(s->older_context, h, &s->older))
        vec_release(&s->older.items);
}

static void read_memory(struct scanning *s, bool stops_threads)
{
    struct target *t = s->target;
    struct stopped_threads h = {0};
    struct err err = {0};
    int code = 0;
    uint64_t start = since_start_ns(t);
    for (unsigned tries = 0; stops_threads; tries++) {
        start = since_start_ns(t);
        code = stop_threads_begin(&h, t->pid, s->waiting ? (pid_t)s->waiting->thread : 0, &err);
        t->stopped = !code;
        target_drain(t, since_start_ns(t));
        s->in_flight = is_reallocating(t);
        if (code || tries == TRIES || !s->in_flight)
            break;
        t->stopped = false;
        stop_threads_end(&h);
        nanosleep(&(struct timespec){.tv_nsec = TRY_NAP_NS}, NULL);
    }
    mark_moment(s);
    block_index_hold(t);
    if (!code && stops_threads)
        find_older(s, &h);
    int seen = has_blocks(s) ? memory_map(&s->memory, t->pid, t->still) : 0;
    if (has_blocks(s) && !seen) {
        memory_find_resident(&s->memory);
        seen = memory_try(&s->memory);
    }
    if (!code && (seen == -ENOENT || seen == -ESRCH))
        code = err_set(&err, seen, "the program ended before it could be scanned");
    else if (!code && seen)
        code = err_set(&err, seen,
                       "the program's memory could not be read: %s; reading it must be permitted "
                       "('tidemark doctor' says what forbids it)",
                       strerror(-seen));
    if (!code && has_blocks(s))
        code = check_cost(s, &err);
    if (!code && has_blocks(s) && !follow_pointers(s, &h))
        code = err_set(&err, -ESRCH, "the program's blocks could not be read");
    /* The memory of a program that was killed meanwhile is gone and was read as zeros. */
    if (!code && has_blocks(s) && memory_try(&s->memory) != 0)
        code = err_set(&err, -ESRCH, "the program was killed during the scan");
    if (code)
        sum_without_reachability(s);
    if (s->footprint)
        footprint_read(s->footprint, t, FOOTPRINT_EXIT, s->time_ns,
                       stops_threads ? !code : stop_threads_count(t->pid) == 1);
    block_index_release(t);
    t->stopped = false;
    stop_threads_end(&h);
    s->held_ns = since_start_ns(t) - start;
    s->unreachable = code ? xstrdup(err.text) : NULL;
}

/* --- on a thread of its own ------------------------------------------------------------------- */

static void *stop_and_read(void *scanning)
{
    struct scanning *s = scanning;
    read_memory(s, true);
    s->cost_ns = thread_cpu_ns();
    return NULL;
}

void scan_read(struct scanning *s)
{
    pthread_t stopper;
    struct target *t = s->target;
    target_drain(t, since_start_ns(t));
    drain_counters(t);
    if (is_too_costly(s)) {
        mark_moment(s);
        sum_without_reachability(s);
        if (s->footprint)
            footprint_read(s->footprint, t, FOOTPRINT_EXIT, s->time_ns,
                           stop_threads_count(t->pid) == 1);
        return;
    }
    bool is_still = s->waiting && (!block_index_count(t) || stop_threads_count(t->pid) == 1);
    if (is_still || pthread_create(&stopper, NULL, stop_and_read, s) != 0)
        read_memory(s, false);
    else
        pthread_join(stopper, NULL);
}

/* --- summing up with reachability ------------------------------------------------------------- */

/* What a lost block leads to, and the row that it belongs to. */
struct root {
    uint64_t bytes;
    uint32_t blocks, row;
};
#define OLDER_ROOT UINT32_MAX       /* an older block, which has no row */
#define RUBY_ROOT  (UINT32_MAX - 1) /* it is not known whether it is lost (ruby_end.h) */

struct summing {
    struct scanning *scanning;
    struct live_summary *live_summary;
    size_t span;        /* index into scanning->memory.resident */
    struct root *roots; /* by the root numbers of struct reachability */
};

static bool is_lost(const struct reachability_block *b)
{
    return b->state == REACH_LOST || b->state == REACH_INDIRECT;
}

/* Older blocks have sums of their own. A recorded block that only a lost older block leads to
 * counts as reachable, because there is no row for the older block. */
static void sum_up_older(struct summing *k)
{
    struct scanning *s = k->scanning;
    struct older_reach *o = &s->older_reach;
    for (size_t i = 0; i < s->blocks.count; i++) {
        const struct reachability_block *seen = &s->reach.blocks.items[i];
        uint64_t bytes = s->blocks.items[i].size + OLDER_BLOCK_REST;
        if (!s->blocks.items[i].older)
            continue;
        o->known = true;
        o->blocks++;
        o->bytes += bytes;
        o->lost_blocks += is_lost(seen);
        o->lost_bytes += is_lost(seen) ? bytes : 0;
        if (seen->state == REACH_LOST)
            k->roots[seen->root].row = OLDER_ROOT;
    }
}

static struct block block_of(const struct reachability_block *seen, const struct scanned_block *of)
{
    return (struct block){.address = seen->address,
                          .size = of->size,
                          .usable = of->size + of->slack,
                          .site = of->site,
                          .birth = of->birth};
}

/* What Ruby's lost blocks lead to is not known to be lost either. */
static void find_rubys(struct summing *k)
{
    struct scanning *s = k->scanning;
    struct ruby_end ruby;
    if (!ruby_end_open(&ruby, s->target))
        return;
    for (size_t i = 0; i < s->blocks.count; i++) {
        const struct reachability_block *seen = &s->reach.blocks.items[i];
        const struct scanned_block *of = &s->blocks.items[i];
        struct block b = block_of(seen, of);
        if (seen->state == REACH_LOST && !of->inherited && !of->older && ruby_end_is(&ruby, &b))
            k->roots[seen->root].row = RUBY_ROOT;
    }
    for (size_t i = 0; i < s->blocks.count; i++) {
        const struct reachability_block *seen = &s->reach.blocks.items[i];
        if (is_lost(seen) && k->roots[seen->root].row == RUBY_ROOT)
            ruby_end_count(&ruby, s->blocks.items[i].size);
    }
    ruby_end_close(&ruby, s->target);
}

static void sum_up(struct summing *k, const struct reachability_block *seen,
                   const struct scanned_block *of)
{
    struct scanning *s = k->scanning;
    enum reach reach = (enum reach)seen->state;
    uint32_t row_of_root = is_lost(seen) ? k->roots[seen->root].row : 0;
    if (reach == REACH_INDIRECT && row_of_root == OLDER_ROOT)
        reach = REACH_REACHABLE;
    else if (row_of_root == RUBY_ROOT)
        reach = REACH_UNKNOWN;
    struct block b = block_of(seen, of);
    if (of->inherited || of->older)
        return;
    uint64_t untouched =
        s->memory.residency ? untouched_of(&s->memory.resident, &k->span, b.address, b.size) : 0;
    uint32_t row = live_summary_add(k->live_summary, s->target, &b, reach, untouched);
    if (reach == REACH_LOST) {
        k->roots[seen->root].row = row;
    } else if (reach == REACH_INDIRECT) {
        k->roots[seen->root].bytes += b.size;
        k->roots[seen->root].blocks++;
    }
}

/* Adds to each lost row what its blocks lead to. */
static void add_led(struct summing *k)
{
    for (size_t i = 0; i < k->scanning->reach.roots; i++) {
        if (k->roots[i].row >= RUBY_ROOT)
            continue;
        struct live_row *row = &k->live_summary->rows.items[k->roots[i].row];
        row->led_bytes += k->roots[i].bytes;
        row->led_blocks += k->roots[i].blocks;
    }
    k->live_summary->scan.led = !k->scanning->unreachable;
    free(k->roots);
}

void scan_finish(struct scanning *s)
{
    struct target *t = s->target;
    struct live_summary *live_summary = NULL;
    struct summing k = {.scanning = s};
    if (s->unreachable && !s->summed) { /* target_pause sums up */
        memory_release(&s->memory);
        vec_release(&s->older.items);
        free(t->scan.left_out);
        t->scan.left_out = s->unreachable;
        return;
    }
    live_summary = k.live_summary = vec_push(&t->scan.results);
    if (s->unreachable) {
        vec_release(&s->blocks);
        reachability_release(&s->reach);
    }
    if (s->summed)
        *live_summary = s->summary;
    else
        live_summary_begin(live_summary, t, s->kind, s->time_ns);
    reachability_run(&s->reach);
    live_summary->scan.intervals = s->tick;
    live_summary->scan.held_ns = s->held_ns;
    live_summary->scan.residency = s->memory.residency;
    live_summary->scan.unreachable = s->unreachable;
    /* Otherwise what was seen when the process began to end stays. */
    live_summary->looked = !s->left_out;
    k.roots = xcalloc(s->reach.roots + 1, sizeof *k.roots);
    sum_up_older(&k);
    if (s->kind != SCAN_ASKED)
        find_rubys(&k);
    for (size_t i = 0; i < s->blocks.count; i++)
        sum_up(&k, &s->reach.blocks.items[i], &s->blocks.items[i]);
    live_summary_close(live_summary);
    add_led(&k);
    vec_release(&s->older.items);
    vec_release(&s->blocks);
    reachability_release(&s->reach);
    memory_release(&s->memory);
}
