/*
 * Reads the records of the rings that perf.c has opened, merged in the order of time.
 */
#include "collect/sampling/perf.h"

#include <linux/perf_event.h>
#include <string.h>

#include "machine/perf_registers.h"

static const char *ring_at(const struct perf *p, const struct perf_ring *r, uint64_t at)
{
    return r->memory + PERF_PAGE_BYTES + at % p->ring_bytes;
}

/* The bytes of the record at r->at, in one piece; NULL: there is none. */
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
    memcpy(p->joined, h, left);
    memcpy(p->joined + left, r->memory + PERF_PAGE_BYTES, size - left);
    return (const void *)p->joined;
}

/* Samples have the time after id, ip and thread; all other records at their end, before the id. */
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

bool perf_read_heads(struct perf *p)
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

/* The rest of a record, read word by word. */
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

static void take_sample(const struct perf *p, struct words w, uint16_t misc, bool stacks,
                        struct perf_record *out)
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
    out->in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    out->registers = (struct arch_registers){.known = 0};
    out->stack = NULL;
    out->stack_size = out->stack_room = 0;
    uint64_t abi = take(&w);
    if (abi == PERF_SAMPLE_REGS_ABI_64) {
        for (size_t i = 0; i < sizeof perf_register_order; i++)
            out->registers.value[perf_register_order[i]] = take(&w);
        out->registers.known = ARCH_BIT(ARCH_REGISTERS) - 1;
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
    /* Otherwise it is an address in the kernel. */
    if (!out->in_kernel && out->kind != PERF_OFF_STACK)
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
        uint64_t pids = take(&w);
        out->kind = h->type == PERF_RECORD_FORK ? PERF_FORK : PERF_EXIT;
        out->pid = (pid_t)(uint32_t)pids;
        out->parent = (pid_t)(pids >> 32);
        out->tid = (pid_t)(uint32_t)take(&w);
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
        take_sample(p, w, h->misc, oldest->stacks, out);
    else
        take_other(h, w, oldest->stacks, out);
    oldest->at += h->size;
    ring_peek(p, oldest); /* if this record is in `whole`, the next one cannot be */
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
