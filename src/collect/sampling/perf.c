#include "collect/sampling/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine/perf_registers.h"

#define OFF_STACK_BYTES   8192
#define ENTRY_STACK_BYTES 4096
#define ENTRIES_APART     64        /* faults */
#define NOTHING_TO_LOCK   (-EDQUOT) /* the error if a ring is refused; an event has other errors */
#define RING_LARGEST      ((size_t)4 << 20)
#define RING_SMALLEST     ((size_t)64 << 10)
#define RINGS_IN_ALL      ((size_t)64 << 20)
#define RECORD_LARGEST    65536 /* a record's size is a 16-bit number */

#define SAMPLE_FIELDS                                                                              \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |                \
     PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER)

/*
 * How many bytes of the stack are copied with a sample of CPU time; deeper frames are cut off.
 * Besides the interrupt, the copy is what a sample costs. So recording begins with the smallest
 * copy, and takes a larger one when stacks were seen to be cut (perf_copy_more). If all processes
 * are recorded, some of them are deep.
 */
static const uint32_t cpu_stack_bytes[PERF_CPU_COPIES] = {4096, 16384, 49152};
#define COPY_OF_ALL       1
#define LARGEST_IN_A_RING 32

/* The same for a fault, of which there may be a million per second: less when stacks were seen to
 * be shallow. */
static const uint32_t fault_stack_bytes[PERF_FAULT_COPIES] = {PERF_FAULT_LARGEST, 2048, 1024};

#ifndef PERF_FORMAT_LOST /* Linux 6.0 */
#define PERF_FORMAT_LOST (1U << 4)
#endif

/* --- opening events --------------------------------------------------------------------------- */

static struct perf_event_attr attributes(uint64_t config, uint64_t period)
{
    return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof(struct perf_event_attr),
                                    .config = config,
                                    .sample_period = period,
                                    .sample_type = SAMPLE_FIELDS,
                                    .sample_regs_user = PERF_REGISTERS_ALL,
                                    .disabled = 1,
                                    .inherit = 1,
                                    .enable_on_exec = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .exclude_callchain_kernel = 1,
                                    .sample_id_all = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC,
                                    .watermark = 1};
}

static struct perf_event_attr tracker_attributes(const struct perf_options *o, bool switches)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_DUMMY, 0);
    a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    a.sample_regs_user = 0;
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = a.build_id = 1;
    a.mmap_data = o->fault_period != 0;
    a.context_switch = o->wall || switches;
    return a;
}

static struct perf_event_attr cpu_attributes(const struct perf_options *o, unsigned copy,
                                             bool kernel)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_TASK_CLOCK, o->cpu_period_ns);
    a.exclude_kernel = !kernel;
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = cpu_stack_bytes[copy];
    return a;
}

static struct perf_event_attr fault_attributes(const struct perf_options *o)
{
    return attributes(PERF_COUNT_SW_PAGE_FAULTS, o->fault_period);
}

static struct perf_event_attr fault_stack_attributes(const struct perf_options *o, unsigned copy)
{
    struct perf_event_attr a = fault_attributes(o);
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = fault_stack_bytes[copy];
    return a;
}

static struct perf_event_attr entry_attributes(void)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_PAGE_FAULTS, ENTRIES_APART);
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = ENTRY_STACK_BYTES;
    return a;
}

/* The event happens in the kernel, so not every user may sample it. */
static struct perf_event_attr off_stack_attributes(void)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
    a.exclude_kernel = 0;
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = OFF_STACK_BYTES;
    return a;
}

static int event_open(struct perf_event_attr *a, pid_t pid, int cpu)
{
    long fd = syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL && a->build_id) { /* before Linux 5.12 */
        a->build_id = 0;
        fd = syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd < 0 ? -errno : (int)fd;
}

static int refusal(int code, const struct perf_options *o, struct err *err)
{
    const char *what = !o->fault_period    ? "CPU time cannot be sampled"
                       : !o->cpu_period_ns ? "page faults cannot be recorded"
                                           : "neither CPU time nor page faults can be recorded";
    if (code == -EMFILE || code == -ENFILE)
        return err_set(err, code, "%s: no file descriptors are left; raise the limit (ulimit -n)",
                       what);
    if (code == NOTHING_TO_LOCK)
        return err_set(err, code,
                       "%s: the memory that this user may lock is used up, perhaps by other "
                       "recordings; end them, or raise the limit (ulimit -l)",
                       what);
    return err_set(err, code,
                   "%s: the kernel refuses perf_event_open (%s); 'tidemark doctor' says what to "
                   "ask for",
                   what, strerror(-code));
}

static int event_add_as(struct perf *p, struct perf_event_attr a, enum perf_kind kind, pid_t pid,
                        int cpu, bool asleep)
{
    uint64_t id;
    a.wakeup_watermark = (uint32_t)(p->ring_bytes / 4);
    a.inherit = pid != -1;
    a.enable_on_exec = !p->at_once && !asleep;
    a.disabled = !p->at_once || asleep;
    a.read_format = p->counts_lost ? PERF_FORMAT_LOST : 0;
    int fd = event_open(&a, pid, cpu);
    if (fd < 0)
        return fd;
    *vec_push(&p->events) = (struct perf_event){.fd = fd};
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0)
        return -errno;
    *map_at(&p->kinds, id) = kind;
    return fd;
}

static int event_add(struct perf *p, struct perf_event_attr a, enum perf_kind kind, pid_t pid,
                     int cpu)
{
    return event_add_as(p, a, kind, pid, cpu, false);
}

static int event_into(struct perf *p, struct perf_event_attr a, enum perf_kind kind, pid_t pid,
                      int cpu, int ring, bool asleep)
{
    int fd = event_add_as(p, a, kind, pid, cpu, asleep);
    if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) != 0)
        return -errno;
    return fd;
}

/* Adds an event for each size of the copy. All but that of p->copy are disabled, and so are the
 * events that children inherit from them. */
static int cpu_events_add(struct perf *p, pid_t pid, int cpu, int main)
{
    for (unsigned i = p->copy; i <= p->copy_most; i++) {
        struct perf_event_attr a = cpu_attributes(&p->options, i, p->kernel);
        int fd = event_into(p, a, PERF_CPU, pid, cpu, main, i != p->copy);
        if (fd < 0)
            return fd;
        *vec_push(&p->copies) = (struct perf_copy){.fd = fd, .kind = PERF_CPU, .copy = i};
    }
    return 0;
}

static int ring_add(struct perf *p, int fd, int cpu, bool stacks)
{
    void *memory =
        mmap(NULL, p->ring_bytes + PERF_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return errno == EPERM ? NOTHING_TO_LOCK : -errno;
    *vec_push(&p->rings) = (struct perf_ring){
        .fd = fd, .cpu = cpu, .memory = memory, .next_time_ns = UINT64_MAX, .stacks = stacks};
    if (stacks)
        vec_last(&p->events)->stacks = true;
    return 0;
}

/*
 * The kernel (6.18) prepares a sample once for all events of a fault, beginning with the event that
 * was opened last. It uses the id and the sizes that it found for that one for the next one too. So
 * all of them ask for the same registers, the one without a stack comes last, and the ring in which
 * a record is tells them apart.
 */
static int fault_events_add(struct perf *p, pid_t pid, int cpu, int main)
{
    const struct perf_options *o = &p->options;
    int ring = -1;
    for (unsigned i = 0; i < PERF_FAULT_COPIES; i++) {
        struct perf_event_attr a = fault_stack_attributes(o, i);
        int fd = ring < 0 ? event_add_as(p, a, PERF_FAULT, pid, cpu, i != p->fault_copy)
                          : event_into(p, a, PERF_FAULT, pid, cpu, ring, i != p->fault_copy);
        if (fd < 0)
            return fd;
        int code = ring < 0 ? ring_add(p, fd, cpu, true) : 0;
        if (code)
            return code;
        ring = ring < 0 ? fd : ring;
        vec_last(&p->events)->stacks = true;
        *vec_push(&p->copies) = (struct perf_copy){.fd = fd, .kind = PERF_FAULT, .copy = i};
    }
    int fd = event_into(p, fault_attributes(o), PERF_FAULT, pid, cpu, main, false);
    return fd < 0 ? fd : 0;
}

/* Opens the events of one CPU. */
static int open_cpu(struct perf *p, pid_t pid, int cpu)
{
    const struct perf_options *o = &p->options;
    int main = event_add(p, tracker_attributes(o, perf_estimates(p)), PERF_OTHER, pid, cpu), fd;
    if (main < 0)
        return main == -ENODEV ? 0 : main; /* this CPU does not exist */
    int code = ring_add(p, main, cpu, false);
    if (!code && o->cpu_period_ns)
        code = cpu_events_add(p, pid, cpu, main);
    if (!code && o->fault_period)
        code = fault_events_add(p, pid, cpu, main);
    if (!code && perf_estimates(p) && !o->fault_period) {
        fd = event_into(p, entry_attributes(), PERF_ENTRY, pid, cpu, main, false);
        code = fd < 0 ? fd : 0;
    }
    /* If this is not permitted, waiting threads are examined instead (waiting_threads.h). */
    if (!code && o->wall) {
        fd = event_add(p, off_stack_attributes(), PERF_OFF_STACK, pid, cpu);
        if (fd >= 0)
            code = ring_add(p, fd, cpu, true);
        else if (fd != -EACCES && fd != -EPERM)
            code = fd;
    }
    return code;
}

bool perf_estimates(const struct perf *p)
{
    return p->options.cpu_period_ns && !p->kernel;
}

uint64_t perf_entries_apart(const struct perf *p)
{
    return p->options.fault_period ? p->options.fault_period : ENTRIES_APART;
}

/* Uses the largest copy only if enough of them fit into a ring that none is lost while other
 * processes run. */
static void copies_begin(struct perf *p)
{
    size_t largest = cpu_stack_bytes[PERF_CPU_COPIES - 1];
    p->copy = p->options.all ? COPY_OF_ALL : 0;
    p->copy_most = p->options.all                                ? COPY_OF_ALL
                   : p->ring_bytes / largest < LARGEST_IN_A_RING ? PERF_CPU_COPIES - 2
                                                                 : PERF_CPU_COPIES - 1;
}

/* Opens an event for our own process on any CPU. Returns 0, or a negative errno. */
static int event_try(struct perf_event_attr a)
{
    int fd = event_open(&a, 0, -1);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

/* Opens everything with rings of this size. */
static int open_all(struct perf *p, const struct perf_options *o, pid_t pid, size_t ring_bytes)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int code = 0;
    struct perf_event_attr counting = tracker_attributes(o, false);
    counting.read_format = PERF_FORMAT_LOST;
    *p = (struct perf){.options = *o,
                       .ring_bytes = ring_bytes,
                       .at_once = o->system,
                       .kernel = o->cpu_period_ns && event_try(cpu_attributes(o, 0, true)) == 0,
                       .counts_lost = event_try(counting) == 0};
    copies_begin(p);
    for (int cpu = 0; cpu < cpus && !code; cpu++)
        code = open_cpu(p, o->system ? -1 : pid, cpu);
    if (!code && !p->rings.count)
        code = -ENODEV;
    if (code)
        perf_close(p);
    return code;
}

int perf_check(const struct perf_options *o, struct err *err)
{
    struct perf p;
    struct perf_event_attr all[] = {tracker_attributes(o, false), cpu_attributes(o, 0, false),
                                    fault_stack_attributes(o, 0)};
    bool wanted[] = {true, o->cpu_period_ns != 0, o->fault_period != 0};
    int code = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && !code; i++)
        code = wanted[i] ? event_try(all[i]) : 0;
    if (code)
        return refusal(code, o, err);
    code = open_all(&p, o, 0, RING_SMALLEST);
    if (code)
        return refusal(code, o, err);
    perf_close(&p);
    return 0;
}

int perf_open(struct perf *p, const struct perf_options *o, pid_t pid, struct err *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t rings = (size_t)cpus * (1 + (o->fault_period != 0) + o->wall), size = RING_LARGEST;
    int code;
    while (size > RING_SMALLEST && size * rings > RINGS_IN_ALL)
        size /= 2;
    /* Until it fits into the memory that may be locked. */
    while ((code = open_all(p, o, pid, size)) != 0) {
        if ((code != NOTHING_TO_LOCK && code != -ENOMEM) || size <= RING_SMALLEST)
            return refusal(code, o, err);
        size /= 2;
    }
    p->joined = xmalloc(RECORD_LARGEST);
    return 0;
}

static int watch_on(struct perf *p, struct perf_event_attr a, enum perf_kind kind, pid_t tid,
                    const struct perf_ring *into)
{
    int fd = event_into(p, a, kind, tid, into->cpu, into->fd, false);
    if (fd >= 0)
        vec_last(&p->events)->stacks = into->stacks;
    return fd < 0 ? fd : 0;
}

/* Opens events in the order of open_cpu. The sizes of copies stay as they are. */
int perf_watch(struct perf *p, pid_t tid)
{
    const struct perf_options *o = &p->options;
    int code = 0;
    p->at_once = true;
    for (size_t i = 0; i < p->rings.count && !code; i++) {
        const struct perf_ring *r = &p->rings.items[i], *stacks = r + 1;
        if (r->stacks)
            continue;
        code = watch_on(p, tracker_attributes(o, perf_estimates(p)), PERF_OTHER, tid, r);
        if (!code && o->cpu_period_ns)
            code = watch_on(p, cpu_attributes(o, p->copy, p->kernel), PERF_CPU, tid, r);
        if (!code && o->fault_period)
            code = watch_on(p, fault_stack_attributes(o, 0), PERF_FAULT, tid, stacks);
        if (!code && o->fault_period)
            code = watch_on(p, fault_attributes(o), PERF_FAULT, tid, r);
        if (!code && perf_estimates(p) && !o->fault_period)
            code = watch_on(p, entry_attributes(), PERF_ENTRY, tid, r);
    }
    return code;
}

static void copies_turn(struct perf *p, enum perf_kind kind, unsigned copy, unsigned long request)
{
    for (size_t i = 0; i < p->copies.count; i++)
        if (p->copies.items[i].kind == kind && p->copies.items[i].copy == copy)
            ioctl(p->copies.items[i].fd, request, 0);
}

bool perf_copy_more(struct perf *p)
{
    if (p->copy == p->copy_most)
        return false;
    copies_turn(p, PERF_CPU, p->copy++, PERF_EVENT_IOC_DISABLE);
    copies_turn(p, PERF_CPU, p->copy, PERF_EVENT_IOC_ENABLE);
    return true;
}

uint32_t perf_copied(const struct perf *p)
{
    return cpu_stack_bytes[p->copy];
}

/* While both are enabled, some faults have two stacks; none is without one. */
void perf_copy_faults(struct perf *p, uint64_t bytes)
{
    unsigned before = p->fault_copy, copy = PERF_FAULT_COPIES - 1;
    while (copy && fault_stack_bytes[copy] < bytes)
        copy--;
    if (copy == before)
        return;
    p->fault_copy = copy;
    copies_turn(p, PERF_FAULT, copy, PERF_EVENT_IOC_ENABLE);
    copies_turn(p, PERF_FAULT, before, PERF_EVENT_IOC_DISABLE);
}

uint32_t perf_fault_copied(const struct perf *p)
{
    return fault_stack_bytes[p->fault_copy];
}

bool perf_lost(const struct perf *p, uint64_t *lost)
{
    *lost = 0;
    for (size_t i = 0; i < p->events.count && p->counts_lost; i++) {
        uint64_t values[2]; /* its count, and how many records were lost */
        if (p->events.items[i].stacks)
            continue;
        if (read(p->events.items[i].fd, values, sizeof values) != sizeof values)
            return false;
        *lost += values[1];
    }
    return p->counts_lost;
}

void perf_close(struct perf *p)
{
    for (size_t i = 0; i < p->rings.count; i++)
        munmap(p->rings.items[i].memory, p->ring_bytes + PERF_PAGE_BYTES);
    for (size_t i = 0; i < p->events.count; i++)
        close(p->events.items[i].fd);
    vec_release(&p->rings);
    vec_release(&p->events);
    vec_release(&p->copies);
    map_release(&p->kinds);
    free(p->joined);
    p->joined = NULL;
}
