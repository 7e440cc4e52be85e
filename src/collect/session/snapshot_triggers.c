#include "collect/session/snapshot_triggers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse_amount.h"
#include "base/clock.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "collect/counting/target.h"
#include "collect/proc/memory_room.h"
#include "collect/proc/proc.h"

#define CHECKS_APART_NS      10000000
#define CHECKS_APART_COST    50 /* the pause is so many times the cost of the last check */
#define CHECKS_APART_MOST_NS 100000000
#define FIRST_BASE           ((uint64_t)1 << 20)
#define PEAK_PERCENT         10
#define CGROUP_ROOM          10 /* a tenth of its limit */
#define MACHINE_ROOM         20 /* a twentieth of its memory, which is much more */

bool trigger_parse(const char *text, struct trigger *out)
{
    *out = (struct trigger){.base = FIRST_BASE};
    if (strncmp(text, "rss=", 4) == 0) {
        int64_t bytes;
        if (!amount_parse(text + 4, &bytes) || bytes < 1)
            return false;
        out->bytes = (uint64_t)bytes;
        out->kind = TRIGGER_RSS;
        return true;
    }
    if (strncmp(text, "live+", 5) == 0) {
        char *end;
        unsigned long percent = strtoul(text + 5, &end, 10);
        if (text[5] < '1' || text[5] > '9' || strcmp(end, "%") != 0 || percent > 1000000)
            return false;
        out->percent = (unsigned)percent;
        out->kind = TRIGGER_LIVE;
        return true;
    }
    out->percent = PEAK_PERCENT;
    out->kind = strcmp(text, "peak") == 0 ? TRIGGER_PEAK : TRIGGER_OOM;
    return strcmp(text, "peak") == 0 || strcmp(text, "oom") == 0;
}

static uint64_t resident_of(pid_t pid)
{
    char text[256];
    struct proc_memory memory;
    if (!proc_read_text(pid, "statm", text, sizeof text) || !proc_parse_statm(text, &memory))
        return 0;
    return memory.rss_bytes;
}

/* What one check needs to know about memory; each value is read once, and only if a trigger needs
 * it. */
struct look {
    struct target *const *targets;
    size_t count;
    uint64_t live, largest_rss;
    pid_t largest;
    struct memory_room room;
};

static void find_out(struct look *l, const struct triggers *s)
{
    bool rss = false, oom = false;
    for (size_t i = 0; i < s->all.count; i++) {
        oom |= s->all.items[i].kind == TRIGGER_OOM;
        rss |= s->all.items[i].kind == TRIGGER_RSS;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct target *t = l->targets[i];
        uint64_t resident = rss || oom ? resident_of(t->pid) : 0;
        if (resident >= l->largest_rss) {
            l->largest_rss = resident;
            l->largest = t->pid;
        }
    }
    if (oom && l->largest)
        memory_room_of(l->largest, &l->room);
}

/* A threshold that was passed counts once, until `far` says that the value is far from it again. */
static bool passes(struct trigger *t, bool there, bool far)
{
    bool now = there && !t->fired;
    t->fired = there || (t->fired && !far);
    return now;
}

static bool heap_grew(struct trigger *t, uint64_t live)
{
    if (live < t->base + t->base / 100 * t->percent)
        return false;
    t->base = live;
    return true;
}

static bool fires(struct trigger *t, const struct look *l, struct strbuf *why)
{
    const struct memory_room *r = &l->room;
    switch (t->kind) {
    case TRIGGER_RSS:
        if (!passes(t, l->largest_rss >= t->bytes, l->largest_rss < t->bytes - t->bytes / 10))
            return false;
        say(why, "the resident memory of process %d reached %B", (int)l->largest, l->largest_rss);
        return true;
    case TRIGGER_LIVE:
    case TRIGGER_PEAK:
        if (!heap_grew(t, l->live))
            return false;
        say(why, "the live heap reached %B", l->live);
        return true;
    case TRIGGER_OOM: {
        uint64_t least = r->limit / (r->of_machine ? MACHINE_ROOM : CGROUP_ROOM);
        if (!r->limit || !passes(t, r->free<least, r->free> 2 * least))
            return false;
        say(why, "%B of %B were left to %r", r->free, r->limit,
            r->of_machine ? "the machine" : "the memory cgroup");
        return true;
    }
    }
    return false;
}

static uint64_t live_of(struct target *const *targets, size_t count)
{
    uint64_t live = 0;
    for (size_t i = 0; i < count; i++)
        live += ledger_now(&targets[i]->ledger).bytes;
    return live;
}

void triggers_taken(struct triggers *s, struct target *const *targets, size_t count)
{
    uint64_t live = live_of(targets, count);
    for (size_t i = 0; i < s->all.count; i++) {
        struct trigger *t = &s->all.items[i];
        if (t->kind == TRIGGER_LIVE)
            t->base = live > FIRST_BASE ? live : FIRST_BASE;
        else if (t->kind == TRIGGER_PEAK && live > t->base)
            t->base = live; /* the heap may have grown between the check and the snapshot */
    }
}

/* Our own processor time, not the time of others: when memory runs out, everything is slow. */
static uint64_t pause_after(uint64_t cost_ns)
{
    uint64_t pause = cost_ns * CHECKS_APART_COST;
    return pause < CHECKS_APART_NS        ? CHECKS_APART_NS
           : pause > CHECKS_APART_MOST_NS ? CHECKS_APART_MOST_NS
                                          : pause;
}

bool triggers_check(struct triggers *s, struct target *const *targets, size_t count,
                    uint64_t now_ns, struct strbuf *why)
{
    if (!s->all.count || now_ns < s->next_check_ns)
        return false;
    uint64_t begun = thread_cpu_ns();
    struct look l = {.targets = targets, .count = count, .live = live_of(targets, count)};
    find_out(&l, s);
    bool due = false;
    for (size_t i = 0; i < s->all.count; i++) {
        struct strbuf reason = {0};
        if (fires(&s->all.items[i], &l, &reason) && !due) {
            strbuf_puts(why, reason.data);
            due = true;
        }
        strbuf_release(&reason);
    }
    s->checks++;
    s->next_check_ns = now_ns + pause_after(thread_cpu_ns() - begun);
    return due;
}
