#include "collect/resident/process_sizes.h"

#include "collect/proc/proc.h"
#include "machine/page.h"

#define STAMPS_MAX     128
#define FIRST_STAMP_NS 2000000 /* between the first readings */

/* The kernel does not say which of the resident pages the program mapped itself, so at most all
 * anonymous memory besides the heap counts. Address space that is only reserved does not count. */
static void note_memory(struct target *t, const struct stamp *s)
{
    uint64_t mapped = 0, beside = s->anon_bytes > s->live_bytes ? s->anon_bytes - s->live_bytes : 0;
    for (size_t i = 0; i < t->program_mmaps.items.count && mapped < beside; i++) {
        const struct program_mmap *r = &t->program_mmaps.items.items[i];
        if (t->ledger.accounts.items[r->account].domain !=
            DOMAIN_ARENA) /* those are live already */
            mapped += r->end - r->start;
    }
    uint64_t held = s->live_bytes + (mapped < beside ? mapped : beside);
    if (held > t->profile.memory_peak_bytes)
        t->profile.memory_peak_bytes = held;
}

bool process_sizes_read(struct target *t, uint64_t now_ns, struct stamp *s)
{
    char text[1024];
    struct proc_memory memory;
    struct proc_state state = {0};
    if (!proc_read_text(t->pid, "statm", text, sizeof text) || !proc_parse_statm(text, &memory))
        return false;
    struct strbuf title = {0};
    if (t->forked)
        proc_read_command(t->pid, &title);
    if (proc_read_state(t->pid, &state))
        target_use_title(t, &title, state.stack_start);
    strbuf_release(&title);
    *s = (struct stamp){.time_ns = now_ns,
                        .vm_bytes = memory.vm_bytes,
                        .rss_bytes = memory.rss_bytes,
                        .anon_bytes = memory.anon_bytes,
                        .minor_faults = state.minor_faults,
                        .major_faults = state.major_faults,
                        .live_bytes = ledger_now(&t->ledger).bytes,
                        .live_blocks = ledger_now(&t->ledger).blocks,
                        .allocations = t->ledger.allocations};
    note_memory(t, s);
    return true;
}

static void add(struct target *t, const struct stamp *s)
{
    if (!t->sizes_due.apart_ns)
        t->sizes_due.apart_ns = FIRST_STAMP_NS;
    if (t->profile.stamps.count == STAMPS_MAX) {
        vec_thin_out(&t->profile.stamps);
        t->sizes_due.apart_ns *= 2;
    }
    *vec_push(&t->profile.stamps) = *s;
    t->sizes_due.next_ns = s->time_ns + t->sizes_due.apart_ns;
}

bool process_sizes_if_due(struct target *t, uint64_t now_ns)
{
    struct stamp s;
    if (now_ns < t->sizes_due.next_ns || !process_sizes_read(t, now_ns, &s))
        return false;
    add(t, &s);
    return true;
}

void process_sizes_at_exit(struct target *t, uint64_t now_ns, const struct wire_held *held)
{
    struct stamp s;
    if (held->allocator && process_sizes_read(t, now_ns, &s)) {
        stamp_set_held(&s, held);
        add(t, &s);
    }
}

void process_sizes_mark(struct target *t, const char *label, uint64_t now_ns)
{
    struct stamp *s = marks_add(t, label, now_ns);
    process_sizes_read(t, now_ns, s);
    s->time_ns = now_ns;
}

uint64_t process_sizes_resident_pages(const struct target *t)
{
    const struct profile *p = &t->profile;
    return p->stamps.count ? vec_last(&p->stamps)->rss_bytes / page_bytes() : 0;
}
