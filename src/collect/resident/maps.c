#include "collect/resident/maps.h"

#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "collect/resident/python_arenas.h"
#include "collect/resident/map_facts.h"
#include "collect/proc/numa_maps.h"
#include "collect/proc/proc.h"
#include "collect/proc/smaps.h"
#include "collect/resident/process_sizes.h"

#define COST_PAGE_NS 80
#define FIRST_NS     20000000  /* most processes of a build or a pipeline have ended by then */
#define APART_NS     500000000 /* the first distance; it grows */
#define APART_COST   100       /* the pause is so many times the cost of the last one, */
#define SAMPLED_COST 500       /* and if allocations are sampled: the program may wait for it */
#define PERIODIC_MAX 16
#define MUCH_BYTES   (UINT64_C(4) << 20) /* a smaller change is no reason for another capture */

/* --- NUMA --------------------------------------------------------------------------------------
 */

/* Both lists are in order of address. Mappings that are in one of them only are left out. */
static void add_placements(struct profile *p, struct proc_mappings *all, char *text)
{
    struct proc_placement placement;
    struct mapping_node node;
    size_t i = 0;
    while (proc_next_placement(&text, &placement)) {
        while (i < all->items.count && all->items.items[i].mapping.start < placement.start)
            i++;
        if (i == all->items.count)
            return;
        struct mapping *m = &all->items.items[i].mapping;
        if (m->start != placement.start || m->policy)
            continue;
        m->policy = strpool_add(&p->map_names, placement.policy);
        m->first_node = p->map_nodes.count;
        uint32_t least = 0;
        while (proc_next_node(&placement, &node)) {
            if (node.node < least || node.node >= NUMA_NODES)
                continue;
            least = node.node + 1;
            *vec_push(&p->map_nodes) = node;
            m->node_count++;
        }
    }
}

/* --- captures --------------------------------------------------------------------------------- */

static bool is_thinned_out(const struct profile *p, size_t i, bool periodic_only, size_t *seen)
{
    if (i == 0 || i + 1 == p->captures.count ||
        (periodic_only && p->captures.items[i].kind != CAPTURE_PERIODIC))
        return false;
    return ++*seen % 2;
}

bool maps_thin_out(struct profile *p)
{
    size_t periodic = 0, seen = 0, captures = 0, mappings = 0, nodes = 0;
    if (p->captures.count < 3)
        return false;
    for (size_t i = 1; i + 1 < p->captures.count; i++)
        periodic += p->captures.items[i].kind == CAPTURE_PERIODIC;
    for (size_t i = 0; i < p->captures.count; i++) {
        struct capture c = p->captures.items[i];
        if (is_thinned_out(p, i, periodic > 0, &seen))
            continue;
        for (size_t k = 0; k < c.count; k++) {
            struct mapping m = p->mappings.items[c.first + k];
            if (m.node_count)
                memmove(p->map_nodes.items + nodes, p->map_nodes.items + m.first_node,
                        m.node_count * sizeof *p->map_nodes.items);
            m.first_node = nodes;
            nodes += m.node_count;
            p->mappings.items[mappings + k] = m;
        }
        c.first = mappings;
        mappings += c.count;
        p->captures.items[captures++] = c;
    }
    p->captures.count = captures;
    p->mappings.count = mappings;
    p->map_nodes.count = nodes;
    return true;
}

static void add_capture(struct target *t, enum capture_kind kind, uint64_t now_ns,
                        const struct proc_mappings *all)
{
    struct profile *p = &t->profile;
    struct capture c = {.kind = (uint32_t)kind,
                        .time_ns = now_ns,
                        .first = p->mappings.count,
                        .count = all->items.count};
    for (size_t i = 0; i < c.count; i++) {
        struct mapping *m = vec_push(&p->mappings);
        *m = all->items.items[i].mapping;
        m->name = strpool_add(&p->map_names, all->items.items[i].name);
    }
    *vec_push(&p->captures) = c;
    size_t periodic = 0;
    for (size_t i = 0; i < p->captures.count; i++)
        periodic += p->captures.items[i].kind == CAPTURE_PERIODIC;
    if (periodic > PERIODIC_MAX) {
        maps_thin_out(p);
        t->maps.due.apart_ns *= 2;
    }
    while (p->mappings.count > CAPTURES_ROOM && maps_thin_out(p))
        ;
}

void maps_read_still(struct target *t, struct proc_still *still)
{
    if (proc_still_read(still, t->pid) == 0) {
        map_facts_mark(t, &still->all);
        t->still = still;
    } else {
        proc_still_release(still);
    }
}

void maps_forget_still(struct target *t)
{
    if (t->still)
        proc_still_release(t->still);
    t->still = NULL;
}

void maps_take(struct target *t, enum capture_kind kind, uint64_t now_ns)
{
    struct strbuf numa = {0};
    struct proc_still own = {0}, *all = t->still ? t->still : &own;
    uint64_t begun = monotonic_ns();
    if (t->still || proc_still_read(&own, t->pid) == 0) {
        if (!t->profile.map_names.strings.count)
            strpool_add(&t->profile.map_names, "");
        if (!t->still)
            map_facts_mark(t, &own.all);
        if (proc_read_all(t->pid, "numa_maps", &numa) == 0)
            add_placements(&t->profile, &all->all, numa.data);
    }
    python_arenas_read(t, now_ns);
    if (all->all.items.count) {
        add_capture(t, kind, now_ns, &all->all);
        t->maps.rss_bytes = all->rss_bytes;
    }
    proc_still_release(&own);
    strbuf_release(&numa);
    if (!t->maps.due.apart_ns)
        t->maps.due.apart_ns = APART_NS;
    uint64_t rest =
        (monotonic_ns() - begun) * (t->profile.sample_bytes ? SAMPLED_COST : APART_COST);
    t->maps.due.rest_ns = now_ns + rest;
    t->maps.due.next_ns = now_ns + (rest > t->maps.due.apart_ns ? rest : t->maps.due.apart_ns);
}

/* Have the mappings changed much since the last capture? If the process is killed, this one may be
 * the last. */
static bool changed_much(const struct target *t)
{
    if (!t->profile.stamps.count)
        return false;
    uint64_t now = vec_last(&t->profile.stamps)->rss_bytes, before = t->maps.rss_bytes;
    uint64_t change = now > before ? now - before : before - now;
    return change > MUCH_BYTES && change > before / 4;
}

bool maps_has_exit(const struct target *t)
{
    return t->profile.captures.count && vec_last(&t->profile.captures)->kind == CAPTURE_EXIT;
}

void maps_if_due(struct target *t, uint64_t now_ns)
{
    if (maps_has_exit(t) && !target_went_on(t, vec_last(&t->profile.captures)->time_ns, now_ns))
        return; /* the end may take a while */
    if (!t->profile.captures.count) {
        uint64_t rest = maps_cost_ns(t) * (t->profile.sample_bytes ? SAMPLED_COST : APART_COST);
        if (now_ns >= FIRST_NS && now_ns >= rest && now_ns >= t->maps.due.next_ns)
            maps_take(t, CAPTURE_START, now_ns);
    } else if (now_ns >= t->maps.due.next_ns ||
               (now_ns >= t->maps.due.rest_ns && changed_much(t))) {
        maps_take(t, CAPTURE_PERIODIC, now_ns);
    }
}

void maps_at_exit(struct target *t, uint64_t now_ns)
{
    if (!maps_has_exit(t))
        maps_take(t, CAPTURE_EXIT, now_ns);
}

void maps_at_detach(struct target *t, uint64_t now_ns)
{
    maps_take(t, t->profile.captures.count ? CAPTURE_PERIODIC : CAPTURE_START, now_ns);
}

uint64_t maps_cost_ns(const struct target *t)
{
    return process_sizes_resident_pages(t) * COST_PAGE_NS;
}
