#include "collect/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/perf_registers.h"

#define FAULT_STACK_BYTES 8192
#define NOTHING_TO_LOCK   (-EDQUOT) /* how a ring is refused, unlike an event */
#define RING_LARGEST      ((size_t)4 << 20)
#define RING_SMALLEST     ((size_t)64 << 10)
#define RINGS_IN_ALL      ((size_t)64 << 20)
#define PAGE_BYTES        4096
#define RECORD_LARGEST    65536 /* their size is a 16-bit number */

#define SAMPLE_FIELDS                                                                              \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |                \
     PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER)

/*
 * How much of the stack is copied with a sample of CPU time; what is deeper is cut. The copy is
 * what a sample costs besides its interrupt, so the program begins with the least, and gets more
 * when its stacks were seen to be cut (perf_copy_more). Of all processes at once, some are deep.
 */
static const uint32_t cpu_stack_bytes[PERF_CPU_COPIES] = {4096, 16384, 49152};
#define COPY_OF_ALL       1
#define LARGEST_IN_A_RING 32

/* --- opening ---------------------------------------------------------------------------------- */

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

static struct perf_event_attr tracker_attributes(const struct perf_options *o)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_DUMMY, 0);
    a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    a.sample_regs_user = 0;
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = a.build_id = 1;
    a.mmap_data = o->fault_period != 0;
    a.context_switch = o->wall;
    return a;
}

static struct perf_event_attr cpu_attributes(const struct perf_options *o, unsigned copy)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_TASK_CLOCK, o->cpu_period_ns);
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = cpu_stack_bytes[copy];
    return a;
}

static struct perf_event_attr fault_attributes(const struct perf_options *o)
{
    return attributes(PERF_COUNT_SW_PAGE_FAULTS, o->fault_period);
}

static struct perf_event_attr fault_stack_attributes(const struct perf_options *o)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_PAGE_FAULTS, o->fault_period);
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = FAULT_STACK_BYTES;
    return a;
}

/* Happens in the kernel, so that not everybody may sample it. */
static struct perf_event_attr off_stack_attributes(void)
{
    struct perf_event_attr a = attributes(PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
    a.exclude_kernel = 0;
    a.sample_type |= PERF_SAMPLE_STACK_USER;
    a.sample_stack_user = FAULT_STACK_BYTES;
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
    int fd = event_open(&a, pid, cpu);
    if (fd < 0)
        return fd;
    *vec_push(&p->fds) = fd;
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

/* One for each size of the copy; all but that of p->copy sleep, and so do what inherits them. */
static int cpu_events_add(struct perf *p, pid_t pid, int cpu, int main)
{
    for (unsigned i = p->copy; i <= p->copy_most; i++) {
        struct perf_event_attr a = cpu_attributes(&p->options, i);
        int fd = event_add_as(p, a, PERF_CPU, pid, cpu, i != p->copy);
        if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, main) != 0)
            return fd < 0 ? fd : -errno;
        *vec_push(&p->copies) = (struct perf_copy){.fd = fd, .copy = i};
    }
    return 0;
}

static int ring_add(struct perf *p, int fd, int cpu, bool stacks)
{
    void *memory =
        mmap(NULL, p->ring_bytes + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return errno == EPERM ? NOTHING_TO_LOCK : -errno;
    *vec_push(&p->rings) = (struct perf_ring){
        .fd = fd, .cpu = cpu, .memory = memory, .next_time_ns = UINT64_MAX, .stacks = stacks};
    return 0;
}

/*
 * The events of one CPU. The kernel (6.18) prepares a sample once for all events of a fault,
 * beginning with the one that was opened last: what it has found for that, its id and the size of
 * its parts, serves for the next one too. So both ask for the same registers, the one without a
 * stack comes last, and they are told apart by the ring that they are in.
 */
static int open_cpu(struct perf *p, pid_t pid, int cpu)
{
    const struct perf_options *o = &p->options;
    int main = event_add(p, tracker_attributes(o), PERF_OTHER, pid, cpu), fd;
    if (main < 0)
        return main == -ENODEV ? 0 : main; /* a CPU that is not there */
    int code = ring_add(p, main, cpu, false);
    if (code)
        return code;
    if (o->cpu_period_ns)
        code = cpu_events_add(p, pid, cpu, main);
    if (code)
        return code;
    if (o->fault_period) {
        fd = event_add(p, fault_stack_attributes(o), PERF_FAULT, pid, cpu);
        code = fd < 0 ? fd : ring_add(p, fd, cpu, true);
        if (code)
            return code;
        fd = event_add(p, fault_attributes(o), PERF_FAULT, pid, cpu);
        if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, main) != 0)
            return fd < 0 ? fd : -errno;
    }
    if (o->wall) { /* if it may not be, threads that wait are looked at (blocked.h) */
        fd = event_add(p, off_stack_attributes(), PERF_OFF_STACK, pid, cpu);
        if (fd >= 0)
            code = ring_add(p, fd, cpu, true);
        else if (fd != -EACCES && fd != -EPERM)
            code = fd;
    }
    return code;
}

/* The largest only where so many fit into a ring that none is lost while others have a turn. */
static void copies_begin(struct perf *p)
{
    size_t largest = cpu_stack_bytes[PERF_CPU_COPIES - 1];
    p->copy = p->options.all ? COPY_OF_ALL : 0;
    p->copy_most = p->options.all                                ? COPY_OF_ALL
                   : p->ring_bytes / largest < LARGEST_IN_A_RING ? PERF_CPU_COPIES - 2
                                                                 : PERF_CPU_COPIES - 1;
}

/* With rings of this size. */
static int open_all(struct perf *p, const struct perf_options *o, pid_t pid, size_t ring_bytes)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int code = 0;
    *p = (struct perf){.options = *o, .ring_bytes = ring_bytes, .at_once = o->system};
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
    struct perf_event_attr all[] = {tracker_attributes(o), cpu_attributes(o, 0),
                                    fault_stack_attributes(o)};
    bool wanted[] = {true, o->cpu_period_ns != 0, o->fault_period != 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int fd = wanted[i] ? event_open(&all[i], 0, -1) : -1;
        if (wanted[i] && fd < 0)
            return refusal(fd, o, err);
        if (fd >= 0)
            close(fd);
    }
    int code = open_all(&p, o, 0, RING_SMALLEST);
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
    while ((code = open_all(p, o, pid, size)) != 0) { /* until it fits into what may be locked */
        if ((code != NOTHING_TO_LOCK && code != -ENOMEM) || size <= RING_SMALLEST)
            return refusal(code, o, err);
        size /= 2;
    }
    p->whole = xmalloc(RECORD_LARGEST);
    return 0;
}

static int watch_on(struct perf *p, struct perf_event_attr a, enum perf_kind kind, pid_t tid,
                    const struct perf_ring *into)
{
    int fd = event_add(p, a, kind, tid, into->cpu);
    return fd < 0 ? fd : ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, into->fd) != 0 ? -errno : 0;
}

/* In the order of open_cpu. */
int perf_watch(struct perf *p, pid_t tid)
{
    const struct perf_options *o = &p->options;
    int code = 0;
    p->at_once = true;
    for (size_t i = 0; i < p->rings.count && !code; i++) {
        const struct perf_ring *r = &p->rings.items[i], *stacks = r + 1;
        if (r->stacks)
            continue;
        code = watch_on(p, tracker_attributes(o), PERF_OTHER, tid, r);
        if (!code && o->cpu_period_ns)
            code = watch_on(p, cpu_attributes(o, p->copy), PERF_CPU, tid, r);
        if (!code && o->fault_period)
            code = watch_on(p, fault_stack_attributes(o), PERF_FAULT, tid, stacks);
        if (!code && o->fault_period)
            code = watch_on(p, fault_attributes(o), PERF_FAULT, tid, r);
    }
    return code;
}

bool perf_copy_more(struct perf *p)
{
    if (p->copy == p->copy_most)
        return false;
    p->copy++;
    for (size_t i = 0; i < p->copies.count; i++)
        if (p->copies.items[i].copy == p->copy - 1)
            ioctl(p->copies.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
    for (size_t i = 0; i < p->copies.count; i++)
        if (p->copies.items[i].copy == p->copy)
            ioctl(p->copies.items[i].fd, PERF_EVENT_IOC_ENABLE, 0);
    return true;
}

uint32_t perf_copied(const struct perf *p)
{
    return cpu_stack_bytes[p->copy];
}

void perf_close(struct perf *p)
{
    for (size_t i = 0; i < p->rings.count; i++)
        munmap(p->rings.items[i].memory, p->ring_bytes + PAGE_BYTES);
    for (size_t i = 0; i < p->fds.count; i++)
        close(p->fds.items[i]);
    vec_release(&p->rings);
    vec_release(&p->fds);
    vec_release(&p->copies);
    map_release(&p->kinds);
    free(p->whole);
    p->whole = NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *ring_at(const struct perf *p, const struct perf_ring *r, uint64_t at)
{
    return r->memory + PAGE_BYTES + at % p->ring_bytes;
}

/* The bytes of the record at r->at, in one piece; NULL: none. */
static const struct perf_event_header *record_at(const struct perf *p, const struct perf_ring *r)
{
    if (r->head - r->at < sizeof(struct perf_event_header))
        return NULL;
    const struct perf_event_header *h = (const void *)ring_at(p, r, r->at);
    uint64_t left = p->ring_bytes - r->at % p->ring_bytes;
    if (h->size < sizeof *h || h->size > r->head - r->at)
        return NULL;
    if (h->size <= left)
        return h;
    uint16_t size = h->size;
    memcpy(p->whole, h, left);
    memcpy(p->whole + left, r->memory + PAGE_BYTES, size - left);
    return (const void *)p->whole;
}

/* Samples have it behind id, ip and thread; all others at their end, before the id. */
static uint64_t time_of(const struct perf_event_header *h)
{
    uint64_t time_ns = 0;
    size_t at = h->type == PERF_RECORD_SAMPLE ? 32 : (size_t)h->size - 16;
    if (h->size >= at + 8 && at >= sizeof *h)
        memcpy(&time_ns, (const char *)h + at, 8);
    return time_ns;
}

static void ring_peek(const struct perf *p, struct perf_ring *r)
{
    const struct perf_event_header *h = record_at(p, r);
    r->next_time_ns = h ? time_of(h) : UINT64_MAX;
}

bool perf_look(struct perf *p)
{
    bool pressed = false;
    for (size_t i = 0; i < p->rings.count; i++) {
        struct perf_ring *r = &p->rings.items[i];
        const struct perf_event_mmap_page *page = (const void *)r->memory;
        /* Pairs with the kernel's barrier before it moves the head. */
        r->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        pressed |= r->head - r->at > p->ring_bytes / 2;
        ring_peek(p, r);
    }
    return pressed;
}

void perf_give_back(struct perf *p)
{
    for (size_t i = 0; i < p->rings.count; i++) {
        struct perf_ring *r = &p->rings.items[i];
        struct perf_event_mmap_page *page = (void *)r->memory;
        __atomic_store_n(&page->data_tail, r->at, __ATOMIC_RELEASE);
    }
}

/* What is left of a record, read word by word. */
struct words {
    const char *at, *end;
};

static uint64_t take(struct words *w)
{
    uint64_t v = 0;
    if (w->end - w->at >= 8) {
        memcpy(&v, w->at, 8);
        w->at += 8;
    }
    return v;
}

static void take_sample(const struct perf *p, struct words w, bool stacks, struct perf_record *out)
{
    uint32_t kind = map_get(&p->kinds, take(&w));
    out->kind = kind == MAP_NONE               ? PERF_OTHER
                : kind == PERF_FAULT && stacks ? PERF_FAULT_STACK
                                               : (enum perf_kind)kind;
    uint64_t pc = take(&w), thread = take(&w);
    out->pid = (pid_t)(uint32_t)thread;
    out->tid = (pid_t)(thread >> 32);
    take(&w); /* the time */
    out->address = take(&w);
    out->registers = (struct arch_registers){.known = 0};
    out->stack = NULL;
    out->stack_size = out->stack_room = 0;
    uint64_t abi = take(&w);
    if (abi == PERF_SAMPLE_REGS_ABI_64) {
        for (size_t i = 0; i < sizeof perf_register_order; i++)
            out->registers.value[perf_register_order[i]] = take(&w);
        out->registers.known = (1u << ARCH_REGISTERS) - 1;
    }
    if (out->registers.known && out->kind != PERF_FAULT) {
        uint64_t size = take(&w);
        out->stack = (const uint8_t *)w.at;
        if (size && size <= (uint64_t)(w.end - w.at)) {
            out->stack_room = size;
            w.at += size;
            uint64_t there = take(&w);
            out->stack_size = there < size ? there : size;
        }
    }
    if (out->kind != PERF_OFF_STACK) /* which has a place in the kernel */
        out->registers.value[ARCH_REG_PC] = pc;
}

static void take_mmap(struct words w, bool has_build_id, bool is_data, struct perf_record *out)
{
    uint64_t thread = take(&w);
    *out = (struct perf_record){.kind = PERF_MMAP,
                                .time_ns = out->time_ns,
                                .pid = (pid_t)(uint32_t)thread,
                                .tid = (pid_t)(thread >> 32)};
    out->start = take(&w);
    out->size = take(&w);
    out->offset = take(&w);
    if (has_build_id && w.end - w.at >= 24) {
        out->build_id_size = (uint8_t)w.at[0] <= 20 ? (uint8_t)w.at[0] : 20;
        out->build_id = (const uint8_t *)w.at + 4;
    }
    w.at += w.end - w.at >= 24 ? 24 : 0;
    take(&w); /* protection, flags */
    out->executable = !is_data;
    out->path = w.at < w.end && memchr(w.at, '\0', (size_t)(w.end - w.at)) ? w.at : "";
}

static void take_other(const struct perf_event_header *h, struct words w, bool stacks,
                       struct perf_record *out)
{
    uint64_t a;
    switch (h->type) {
    case PERF_RECORD_MMAP2:
        take_mmap(w, h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID, h->misc & PERF_RECORD_MISC_MMAP_DATA,
                  out);
        break;
    case PERF_RECORD_COMM:
        a = take(&w);
        out->kind = PERF_COMM;
        out->pid = (pid_t)(uint32_t)a;
        out->tid = (pid_t)(a >> 32);
        out->exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
        out->name = memchr(w.at, '\0', (size_t)(w.end - w.at)) ? w.at : "";
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: {
        uint64_t pids = take(&w), tids = take(&w);
        out->kind = h->type == PERF_RECORD_FORK ? PERF_FORK : PERF_EXIT;
        out->pid = (pid_t)(uint32_t)pids;
        out->parent = (pid_t)(pids >> 32);
        out->tid = (pid_t)(uint32_t)tids;
        out->parent_tid = (pid_t)(tids >> 32);
        break;
    }
    case PERF_RECORD_SWITCH:
        a = take(&w);
        out->kind = h->misc & PERF_RECORD_MISC_SWITCH_OUT ? PERF_OFF : PERF_ON;
        out->pid = (pid_t)(uint32_t)a;
        out->tid = (pid_t)(a >> 32);
        out->preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        break;
    case PERF_RECORD_LOST:
        take(&w);
        out->kind = PERF_LOST;
        out->lost = take(&w);
        out->lost_stacks = stacks;
        break;
    default:
        out->kind = PERF_OTHER;
    }
}

bool perf_next(struct perf *p, uint64_t until_ns, struct perf_record *out)
{
    struct perf_ring *oldest = NULL;
    for (size_t i = 0; i < p->rings.count; i++) {
        struct perf_ring *r = &p->rings.items[i];
        if (!oldest || r->next_time_ns < oldest->next_time_ns)
            oldest = r;
    }
    if (!oldest || oldest->next_time_ns == UINT64_MAX || oldest->next_time_ns > until_ns)
        return false;
    const struct perf_event_header *h = record_at(p, oldest);
    struct words w = {(const char *)(h + 1), (const char *)h + h->size};
    out->time_ns = oldest->next_time_ns;
    if (h->type == PERF_RECORD_SAMPLE)
        take_sample(p, w, oldest->stacks, out);
    else
        take_other(h, w, oldest->stacks, out);
    oldest->at += h->size;
    ring_peek(p, oldest); /* if this one is in `whole`, the next one cannot be */
    return true;
}

size_t perf_poll(struct perf *p, struct pollfd *out)
{
    size_t n = 0;
    for (size_t i = 0; i < p->rings.count; i++)
        if (!p->rings.items[i].closed)
            out[n++] = (struct pollfd){.fd = p->rings.items[i].fd, .events = POLLIN};
    return n;
}

void perf_polled(struct perf *p, const struct pollfd *in, size_t count)
{
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < p->rings.count && in[k].revents & (POLLHUP | POLLERR); i++)
            if (p->rings.items[i].fd == in[k].fd)
                p->rings.items[i].closed = true;
}
