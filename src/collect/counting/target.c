#include "collect/counting/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/older_libc.h"
#include "collect/counting/heap_peak.h"
#include "collect/counting/shared_memory.h"
#include "collect/counting/timer_samples.h"
#include "collect/proc/proc.h"

/* In the first memory. One that no thread has taken costs address space only, unless the program
 * locks its memory; a thread that needs another waits for us. */
#define RINGS_FIRST      16
#define RINGS_LIMITED    4          /* the same if address space is limited */
#define RINGS_MAX        512        /* in one request */
#define BOUNDARIES_MAX   65536      /* in one pass */
#define MODULES_BYTES    (1u << 20) /* room for about 8,000 files */
#define PYTHON_LARGE     (1u << 26) /* room for some 100,000 code objects */
#define PYTHON_SMALL     (1u << 21) /* the same if address space is limited */
#define DESCRIPTORS_KEPT 8          /* not used for pidfds */
#define PYTHON_ENDS_NS   1000000000 /* an interpreter hardly ever takes longer to end */

/* There is room for all readers from the beginning: a pass has pointers to them. */
static void add_rings(struct target *t, char *rings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        *vec_push(&t->rings) = rings + (size_t)i * WIRE_RING_BYTES;
    vec_reserve(&t->readers, t->rings.count);
}

void target_meet_rings(struct target *t)
{
    uint32_t used = atomic_load_explicit(&t->header->rings_used, memory_order_acquire);
    while (t->readers.count < used && t->readers.count < t->rings.count) {
        char *ring = t->rings.items[t->readers.count];
        *vec_push(&t->readers) = (struct reader){.ring = (struct wire_ring *)ring,
                                                 .chunks = (const uint64_t *)(ring + WIRE_PAGE),
                                                 .thread = NO_THREAD};
    }
}

/* A pidfd, or -1, also if it would be one of the last descriptors: we can do without it, but not
 * without those for new processes, for symbols and for the recording. */
static int open_pidfd(pid_t pid)
{
    struct rlimit limit;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        (rlim_t)fd + DESCRIPTORS_KEPT >= limit.rlim_cur) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Places everything in a process's first shared memory; returns the size of the file. */
static size_t lay_out(bool limited_space, struct wire_header *h)
{
    size_t size;
    h->ring_count = limited_space ? RINGS_LIMITED : RINGS_FIRST;
    h->modules_offset = WIRE_PAGE;
    h->modules_size = MODULES_BYTES;
    h->python_offset = h->modules_offset + MODULES_BYTES;
    h->python_size = limited_space ? PYTHON_SMALL : PYTHON_LARGE;
    h->samples_offset = h->python_offset + h->python_size;
    h->routes_offset = h->samples_offset + WIRE_SAMPLES_SIZE;
    h->rings_offset = h->routes_offset + WIRE_PAGE;
    h->eras_offset = h->rings_offset + (size_t)h->ring_count * WIRE_RING_BYTES;
    h->size = program_stacks_lay_out(h, h->eras_offset + WIRE_ERAS * sizeof(uint32_t), &size);
    accounts_lay_out(h, limited_space, &size);
    return size;
}

int target_attach(struct target *t, bool limited_space, enum wire_on_full on_full, struct err *err)
{
    struct wire_header layout = {.magic = WIRE_MAGIC,
                                 .version = WIRE_VERSION,
                                 .on_full = on_full,
                                 .moment = (uint64_t)t->tick << 32 | t->eras.now,
                                 .first_era = t->eras.now,
                                 .pid = (uint32_t)t->pid,
                                 .python_used = 8};
    size_t size = lay_out(limited_space, &layout);
    void *memory = NULL;
    int fd = shared_memory_new(size, layout.size, &memory);
    if (fd < 0)
        return err_set(err, fd, "cannot make shared memory for process %d: %s", t->pid,
                       strerror(-fd));
    if (!accounts_open(&t->accounts, fd, &layout)) {
        close(fd);
        munmap(memory, layout.size);
        return err_set(err, -ENOMEM, "cannot map the accounts of process %d", t->pid);
    }
    t->eras_offset = layout.eras_offset;
    t->routes_offset = layout.routes_offset;
    t->ledger.peak_is_reported = true;
    t->fd = fd;
    t->header = memory;
    t->size = layout.size;
    t->python.offset = layout.python_offset;
    t->python.size = layout.python_size;
    memcpy(memory, &layout, sizeof layout);
    program_stacks_open(&t->program_stacks, memory, &layout);
    add_rings(t, (char *)memory + layout.rings_offset, layout.ring_count);
    return 0;
}

struct target *target_new_bare(pid_t pid, uint64_t interval_ns)
{
    struct target *t = xcalloc(1, sizeof *t);
    t->pid = pid;
    t->fd = -1;
    t->pidfd = open_pidfd(pid);
    ledger_init(&t->ledger);
    interval_log_init(&t->timeline, interval_ns);
    t->tick = 1;
    eras_begin(&t->eras, 0, 1, true);
    t->profile.pid = (uint32_t)pid;
    t->profile.exit_code = -1;
    *vec_push(&t->profile.nodes) = (struct node){0};
    target_read_command(t);
    return t;
}

void target_begin_late(struct target *t, uint64_t now_ns)
{
    interval_log_close(&t->timeline, &t->ledger, now_ns, 0, false);
    t->eras.eras.items[0].start_ns = now_ns;
}

struct target *target_new(pid_t pid, bool limited_space, enum wire_on_full on_full,
                          uint64_t interval_ns, struct err *err)
{
    struct target *t = target_new_bare(pid, interval_ns);
    if (target_attach(t, limited_space, on_full, err) == 0)
        return t;
    target_free(t);
    return NULL;
}

void target_read_program(struct target *t)
{
    if (!t->profile.command.count || !*t->profile.executable)
        target_read_command(t);
}

int target_check(struct err *err)
{
    void *memory = NULL;
    struct wire_header layout = {0};
    size_t size = lay_out(true, &layout);
    int fd = shared_memory_new(size, layout.size, &memory);
    if (fd < 0)
        return err_set(err, fd, "cannot make shared memory: %s%s", strerror(-fd),
                       fd == -EFBIG    ? "; raise the limit on file sizes (ulimit -f)"
                       : fd == -ENOMEM ? "; raise the limit on memory (ulimit -v, ulimit -d)"
                                       : "; memfd_create must be permitted");
    munmap(memory, layout.size);
    close(fd);
    return 0;
}

static void route(struct target *t, bool recording)
{
    wire_routes_set((struct wire_routes *)((char *)t->header + t->routes_offset), recording);
}

void target_wake(struct target *t)
{
    atomic_store(&t->header->dormant, 0);
    route(t, true);
}

void target_put_to_sleep(struct target *t)
{
    atomic_store(&t->header->dormant, WIRE_DORMANT);
    route(t, false);
}

void target_release_events(struct target *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
    ledger_close(&t->ledger);
    accounts_release(&t->accounts);
    program_stacks_settle(&t->program_stacks, &t->ledger, &t->profile);
    program_stacks_release(&t->program_stacks);
    if (t->header) {
        target_wake(t); /* its children that are still dormant will connect */
        munmap(t->header, t->size);
    }
    t->header = NULL;
    for (size_t i = 0; i < t->segments.count; i++)
        munmap(t->segments.items[i].memory, t->segments.items[i].size);
    vec_release(&t->segments);
    for (size_t i = 0; i < t->readers.count; i++)
        vec_release(&t->readers.items[i].cuts.items);
    vec_release(&t->readers);
    vec_release(&t->rings);
    realloc_chains_release_links(t);
    vec_release(&t->index_parts);
    vec_release(&t->block_copy.blocks);
    vec_release(&t->boundaries);
    vec_release(&t->active);
    program_mmaps_release(&t->program_mmaps);
    pools_release_blocks(&t->pools);
    thread_numbers_release(&t->thread_numbers);
}

void target_release_figures(struct target *t)
{
    marks_release(&t->marks);
    sampled_tree_release(&t->sampled.stacks);
    vec_release(&t->sampled.threads);
    vec_release(&t->sampled.late);
    pools_release(&t->pools);
    eras_release(&t->eras);
    for (size_t i = 0; i < t->scan.results.count; i++)
        live_summary_release(&t->scan.results.items[i]);
    free(t->scan.left_out);
    t->scan.left_out = NULL;
    untouched_release(&t->untouched);
    realloc_chains_release(t);
    vec_release(&t->scan.results);
    ledger_release(&t->ledger);
    interval_log_release(&t->timeline);
    address_set_release(&t->inheritance.maps);
    address_set_release(&t->scan.loader);
}

struct target *target_find(struct target *const *targets, size_t count, pid_t pid)
{
    for (size_t i = count; i-- > 0;)
        if (targets[i]->pid == pid)
            return targets[i];
    return NULL;
}

void target_free(struct target *t)
{
    if (!t)
        return;
    if (t->pidfd >= 0)
        close(t->pidfd);
    target_release_events(t);
    fork_images_release(&t->inheritance);
    target_release_figures(t);
    python_codes_release(&t->python.codes);
    jit_names_release(&t->jit);
    strbuf_release(&t->packed.chunks);
    profile_release(&t->profile);
    free(t);
}

int target_more_rings(struct target *t, uint32_t count, size_t *size)
{
    void *memory = NULL;
    if (count == 0 || count > RINGS_MAX)
        return -EINVAL;
    *size = (size_t)count * WIRE_RING_BYTES;
    int fd = shared_memory_new(*size, *size, &memory);
    if (fd < 0)
        return fd;
    *vec_push(&t->segments) = (struct segment){memory, *size};
    add_rings(t, memory, count);
    return fd;
}

/* Adds boundaries that the program has made meanwhile, up to a tick. Until a mark's note is read,
 * all that is known of its time is that it is past. */
static void add_boundaries(struct target *t, uint32_t tick)
{
    if (tick - t->tick > BOUNDARIES_MAX)
        t->tick = tick; /* nonsense, or more marks than we can hold */
    uint64_t now_ns = t->tick != tick ? target_time(t, monotonic_ns()) : 0;
    for (; t->tick != tick; t->tick++)
        *vec_push(&t->boundaries) =
            (struct boundary){.tick = t->tick, .time_ns = now_ns, .programs = true};
}

void target_boundary(struct target *t, uint64_t now_ns)
{
    uint32_t tick = t->header ? wire_move_tick(t->header) : t->tick;
    add_boundaries(t, tick);
    *vec_push(&t->boundaries) = (struct boundary){.tick = tick, .time_ns = now_ns};
    t->tick = tick + 1;
}

void target_boundary_kept(struct target *t, uint64_t now_ns)
{
    target_boundary(t, now_ns);
    vec_last(&t->boundaries)->kept = true;
}

/* There are no rings to be read before an interval ends. */
static void close_boundaries(struct target *t)
{
    for (size_t i = 0; i < t->boundaries.count; i++) {
        struct boundary *b = &t->boundaries.items[i];
        bool kept;
        uint64_t end_ns = marks_end(t, b, &kept);
        interval_log_close(&t->timeline, &t->ledger, end_ns, b->tick, kept);
    }
    t->boundaries.count = 0;
}

static bool interval_is_due(const struct target *t, uint64_t now_ns)
{
    return !t->ended && !t->dormant && now_ns >= t->timeline.next_end_ns;
}

uint64_t target_pass(struct target *t, uint64_t now_ns)
{
    t->patient = t->header != NULL;
    uint64_t words = target_drain(t, now_ns);
    t->patient = false;
    if (t->header && interval_is_due(t, now_ns) && !t->boundaries.count) {
        target_boundary(t, now_ns);
        vec_last(&t->boundaries)->patient = true;
    }
    return words;
}

uint64_t target_drain(struct target *t, uint64_t now_ns)
{
    /* What has the new tick is after this moment. */
    if (!t->header && interval_is_due(t, now_ns))
        target_boundary(t, now_ns);
    else
        add_boundaries(t, target_tick(t));
    timer_samples_drain(t, now_ns);
    uint64_t words = 0;
    if (t->header)
        words = drain_rings(t, now_ns);
    else
        close_boundaries(t);
    target_add_late_samples(t);
    return words;
}

void target_end(struct target *t, uint64_t now_ns)
{
    t->ended = true;
    add_boundaries(t, target_tick(t));
    timer_samples_end(t, now_ns);
    if (t->header)
        drain_rings(t, now_ns);
    else
        close_boundaries(t);
    target_add_late_samples(t);
    program_stacks_update(&t->program_stacks);
    program_stacks_number_begin(&t->program_stacks, &t->profile);
    target_pause(t, now_ns);
    program_stacks_number_end(&t->program_stacks);
}

static void add_own(struct address_set *out, const struct wire_own *own, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t size = atomic_load(&own[i].size), start = atomic_load(&own[i].start);
        if (start + size > start)
            address_set_add(out, start, start + size);
    }
}

void target_own(const struct target *t, struct address_set *out)
{
    if (t->header)
        add_own(out, t->header->own, WIRE_OWN);
    for (size_t i = 0; i < t->readers.count; i++)
        add_own(out, t->readers.items[i].ring->own, WIRE_RING_OWN);
    address_set_settle(out);
}

bool target_went_on(const struct target *t, uint64_t looked_ns, uint64_t now_ns)
{
    return t->python.ends_early && now_ns > looked_ns + PYTHON_ENDS_NS;
}

uint64_t *target_unknown_frees(struct target *t)
{
    if (t->was_paused)
        return &t->unannounced_frees;
    return t->attached ? &t->profile.attached.frees : &t->ledger.unknown_frees;
}

bool target_may_lack_blocks(const struct target *t)
{
    uint64_t lost = t->ledger.lost_events;
    for (size_t i = 0; i < t->timeline.slices.count; i++)
        lost += t->timeline.slices.items[i].interval.lost_events;
    return lost || t->was_paused || t->attached || t->inheritance.unknown;
}

static void read_modules(struct target *t)
{
    uint32_t used = atomic_load_explicit(&t->header->modules_used, memory_order_acquire);
    const char *base = (const char *)t->header + WIRE_PAGE;
    while (used <= MODULES_BYTES && used - t->modules_read >= sizeof(struct wire_module) &&
           used > t->modules_read) {
        struct wire_module m;
        memcpy(&m, base + t->modules_read, sizeof m);
        size_t record = (sizeof m + m.path_size + 7) & ~(size_t)7;
        if (record > used - t->modules_read || m.build_id_size > sizeof m.build_id ||
            m.end < m.start)
            break;
        struct module *known = vec_push(&t->profile.modules);
        const char *path = base + t->modules_read + sizeof m;
        *known = (struct module){.start = m.start,
                                 .end = m.end,
                                 .bias = m.bias,
                                 .epoch = m.epoch,
                                 .build_id_size = m.build_id_size,
                                 /* The program itself has no name in the loader's list. */
                                 .path = m.path_size ? xstrndup(path, m.path_size)
                                                     : xstrdup(t->profile.executable)};
        memcpy(known->build_id, m.build_id, sizeof m.build_id);
        t->modules_read += (uint32_t)record;
    }
}

void target_update_code(struct target *t)
{
    if (!t->header)
        return;
    accounts_drop_pages(&t->accounts);
    program_stacks_update(&t->program_stacks);
    read_modules(t); /* after the stacks: a thread reports a module before a stack in it */
    /* After the nodes: what they refer to was reported before them. */
    python_codes_read(&t->python.codes, (const char *)t->header + t->python.offset, t->python.size,
                      atomic_load_explicit(&t->header->python_used, memory_order_acquire));
}

uint64_t target_watched_peak(struct target *t)
{
    heap_peak_raise(t);
    return ledger_watched_peak(&t->ledger);
}

uint64_t target_peak_bytes(const struct target *t)
{
    uint64_t peak = t->ledger.peak_bytes, live = ledger_now(&t->ledger).bytes;
    uint64_t noted = t->header ? atomic_load(&t->header->totals.peak_bytes) : 0;
    peak = noted > peak ? noted : peak;
    return live > peak ? live : peak;
}

void target_watch_peak(struct target *t)
{
    ledger_watch(&t->ledger);
    heap_peak_restart(t);
}
