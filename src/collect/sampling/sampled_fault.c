/*
 * Page faults: joined with their stacks, and counted. fault_owners.h finds who allocated the
 * memory, touched_pages.h how much became resident.
 */
#include "collect/sampling/samples_state.h"

#define LONE_MAX 4096 /* per thread, how many faults may wait for their stacks */

/* The owner of a page is found when the fault is read: when its stack comes, the block may be
 * gone. */
static uint32_t owner_of(struct process *p, struct sampled_thread *thread, uint64_t address)
{
    uint32_t account;
    const struct sampled_map *m = sampled_maps_find(&p->mappings, address);
    return owner_find(&thread->owner, p->target, m, address, &account) ? account : NO_OWNER;
}

static void count_fault(struct samples *s, struct process *p, struct sampled_thread *thread,
                        uint32_t stack, const struct lone_fault *w)
{
    static const enum column column[] = {[FAULT_TOUCH] = COLUMNS,
                                         [FAULT_HUGE] = COL_HUGE_FAULTS,
                                         [FAULT_FILE] = COL_FILE_FAULTS,
                                         [FAULT_COPY] = COL_COPIES};
    struct target *t = p->target;
    uint64_t weight = s->perf.options.fault_period;
    const struct sampled_map *m = sampled_maps_find(&p->mappings, w->address);
    enum fault_kind kind = touched_pages_fault(&p->pages, p->pid, m, w->address);
    uint64_t bytes = weight * fault_bytes(kind);
    uint32_t account = ledger_account(&t->ledger, stack, thread_number(p, thread, w->time_ns),
                                      DOMAIN_FAULTS, STACK_WHOLE);
    add_sample(s, t, account, weight, bytes, column[kind], w->time_ns);
    if (w->owner != NO_OWNER) {
        const struct account owner = t->ledger.accounts.items[w->owner];
        account = ledger_account(&t->ledger, owner.node, owner.thread, DOMAIN_TOUCHED, STACK_WHOLE);
        add_sample(s, t, account, weight, bytes, column[kind], w->time_ns);
    }
}

static uint32_t stack_of_place(struct process *p, uint64_t pc)
{
    struct sampled_tree *tree = &p->target->sampled.stacks;
    uint32_t node = sampled_tree_child(tree, 0, NODE_TRUNCATED);
    return sampled_tree_child(tree, node, node_address(p, pc + 1));
}

/* Charges faults to the last stack if it is theirs, or was taken at the same place. `any`: charges
 * all of them, even if nothing better is known. */
static void settle_lone(struct samples *s, struct process *p, struct sampled_thread *t, bool any)
{
    size_t left = 0;
    for (size_t i = 0; i < t->lone.count; i++) {
        struct lone_fault w = t->lone.items[i];
        bool same = t->last_stack && w.pc == t->last.pc && w.sp == t->last.sp;
        if (same) {
            t->last_counted |= w.address == t->last.address;
            count_fault(s, p, t, t->last_stack, &w);
        } else if (any) {
            count_fault(s, p, t, w.part ? w.part : stack_of_place(p, w.pc), &w);
        } else {
            t->lone.items[left++] = w;
        }
    }
    t->lone.count = left;
}

/* Pages of the recorder belong to no function of the program, whoever called the recorder: one
 * frame shows this. */
static uint32_t recorder_stack(struct process *p, uint64_t pc)
{
    return sampled_tree_child(&p->target->sampled.stacks, 0, node_address(p, pc + 1));
}

void settle_faults(struct samples *s, struct process *p, struct sampled_thread *t)
{
    settle_lone(s, p, t, true);
}

/* Handles the stack of a fault, which comes before or after the small record of the same fault. */
static void take_stack(struct samples *s, struct process *p, struct sampled_thread *t,
                       struct lone_fault *w, const struct perf_record *r)
{
    bool cut = false;
    w->part = is_recorder(p, w->pc) ? recorder_stack(p, w->pc) : stack_of_fault(s, p, r, &cut);
    if (perf_estimates(&s->perf))
        kernel_entered(s, p, t, r->time_ns, w->part);
    /* If an earlier fault was at the same place, its stack may be known completely. */
    if (cut && t->last_stack && w->pc == t->last.pc && w->sp == t->last.sp) {
        t->last.address = w->address;
    } else if (cut && r->stack_room < PERF_FAULT_LARGEST) {
        t->cut = *w;
        for (size_t i = t->lone.count; i-- > 0;)
            if (t->lone.items[i].address == w->address && !t->lone.items[i].part) {
                t->lone.items[i].part = w->part;
                break;
            }
        return;
    } else {
        t->last = *w;
        t->last_stack = w->part;
    }
    t->last_counted = false;
    settle_lone(s, p, t, false);
}

void take_fault(struct samples *s, struct process *p, const struct perf_record *r)
{
    if (!has_target(s, p))
        return;
    struct sampled_thread *t = thread_of(p, r->tid);
    struct lone_fault w = {.pc = r->registers.value[ARCH_REG_PC],
                           .sp = r->registers.value[ARCH_REG_SP],
                           .address = r->address,
                           .time_ns = r->time_ns};
    if (r->kind == PERF_FAULT_STACK) {
        take_stack(s, p, t, &w, r);
        return;
    }
    w.owner = owner_of(p, t, w.address);
    if (t->last_stack && !t->last_counted && w.address == t->last.address) {
        t->last_counted = true;
        count_fault(s, p, t, t->last_stack, &w);
        return;
    }
    w.part = w.address == t->cut.address ? t->cut.part : 0;
    /* If its own stack was not lost, it comes next; the stacks of the faults before it were
     * lost. */
    settle_lone(s, p, t, t->lone.count == LONE_MAX);
    *vec_push(&t->lone) = w;
}
