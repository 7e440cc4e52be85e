#include "unwind/walk.h"

#include <string.h>

#include "unwind/frame_pointer.h"

#define PC_MASK         ((UINT64_C(1) << 48) - 1)
#define WALK_SLOW_STEPS 256 /* each begins again from the innermost frame */

void walk_init(struct walk *w, void *memory)
{
    char *at = memory;
    *w = (struct walk){.frames = (void *)at};
    at += WALK_FRAMES * sizeof(struct walk_frame);
    w->reads = (struct walk_read *)(void *)at + WALK_READ_GROUP;
    for (struct walk_read *r = (void *)at; r < w->reads; r++)
        r->address = (uint64_t)(uintptr_t)&r->value; /* holds whatever it is */
    at += (WALK_FRAMES * 3 + WALK_READ_GROUP) * sizeof(struct walk_read);
    w->steps = (void *)at;
    at += WALK_FRAMES * sizeof(struct walk_step);
    w->leaves = (void *)at;
    at += WALK_LEAF_SETS * sizeof(struct walk_leaf_set);
    w->sites = (void *)at;
}

void walk_forget(struct walk *w)
{
    w->count = w->trusted = 0;
    if (w->any_leaf)
        memset(w->leaves, 0, WALK_LEAF_SETS * sizeof *w->leaves);
    w->any_leaf = false;
    if (w->any_site)
        memset(w->sites, 0, CALL_SITES * sizeof *w->sites);
    w->any_site = false;
}

void walk_forget_notes(struct walk *w)
{
    for (unsigned i = 0; i < WALK_LEAF_SETS && w->any_leaf; i++)
        for (unsigned way = 0; way < WALK_LEAF_WAYS; way++)
            w->leaves[i].way[way].note = 0;
}

struct walk_leaf *walk_keep_leaf(struct walk *w)
{
    if (w->count < 2 || w->trusted != w->count || !w->frames[w->count - 1].id)
        return NULL; /* nothing below it, or not provable */
    /* The innermost frame that was unchanged. If all were, or none, any frame below the top will
     * do: a loop that does nothing but allocate has the same stack every time. */
    const uint32_t below = w->fresh == 0 || w->fresh == w->count ? w->count - 2 : w->fresh - 1;
    const struct walk_frame *top = &w->frames[w->count - 1], *base = &w->frames[below];
    const struct walk_read *read = w->reads + base->reads;
    uint32_t reads = top->reads - base->reads;
    if (reads > WALK_LEAF_READS)
        return NULL;
    for (uint32_t i = 0; i < reads; i++)
        if ((read[i].address - top->sp) / 8 > UINT16_MAX || read[i].address % 8)
            return NULL;
    struct walk_leaf_set *set = walk_leaves(w, top->address & PC_MASK, top->sp);
    struct walk_leaf *l = &set->way[w->victim[set - w->leaves]++ % WALK_LEAF_WAYS];
    w->any_leaf = true;
    l->pc = top->address & PC_MASK;
    l->sp = top->sp;
    l->fp = top->fp;
    l->fp_matters = top->fp_matters;
    l->base = below;
    l->base_id = base->id;
    l->base_sp = base->sp;
    l->base_fp = base->fp;
    l->id = top->id;
    l->note = 0;
    l->reads = (uint8_t)(reads + reads % 2);
    for (uint32_t i = 0; i < l->reads; i++) { /* an odd one is stored twice */
        const struct walk_read *r = read + (i < reads ? reads - 1 - i : 0);
        l->offset[i] = (uint16_t)((r->address - top->sp) / 8);
        l->value[i] = r->value;
    }
    return l;
}

/* Drops the outermost `drop` frames: the rest is a truncated stack and needs new ids. */
static void walk_rebase(struct walk *w, uint32_t drop)
{
    uint32_t reads = w->frames[drop - 1].reads, all = w->frames[w->count - 1].reads;
    memmove(w->reads, w->reads + reads, (all - reads) * sizeof *w->reads);
    memmove(w->frames, w->frames + drop, (w->count - drop) * sizeof *w->frames);
    w->count -= drop;
    for (uint32_t i = 0; i < w->count; i++)
        w->frames[i].reads -= reads;
    w->root = WALK_TRUNCATED;
    w->fresh = 0;
}

/* Appends the steps, outermost first, to the frames that were found unchanged. */
static void walk_remember(struct walk *w, uint32_t steps)
{
    w->fresh = w->count;
    if (__builtin_expect(w->count + steps > WALK_FRAMES, 0)) {
        uint32_t drop = w->count < WALK_FRAMES / 2 ? w->count : WALK_FRAMES / 2;
        if (w->count - drop + steps > WALK_FRAMES)
            drop = w->count + steps - WALK_FRAMES;
        walk_rebase(w, drop);
    }
    uint32_t n = w->count;
    uint32_t reads = n ? w->frames[n - 1].reads : 0;
    bool fp_matters = n ? w->frames[n - 1].fp_matters : false;
    for (uint32_t i = steps; i-- > 0; n++) {
        const struct walk_step *s = &w->steps[i];
        if (s->return_slot)
            w->reads[reads++] = (struct walk_read){s->return_slot, s->return_value};
        if (s->fp_slot) {
            if (fp_matters)
                w->reads[reads++] = (struct walk_read){s->fp_slot, s->fp_value};
            fp_matters = false;
        }
        if (s->deref_slot)
            w->reads[reads++] = (struct walk_read){s->deref_slot, s->deref_value};
        fp_matters |= s->uses_fp;
        w->frames[n] = (struct walk_frame){.address = s->address,
                                           .sp = s->sp,
                                           .fp = s->fp,
                                           .reads = reads,
                                           .fp_matters = fp_matters};
    }
    w->count = n;
}

/* Is this frame the innermost cached one that is left, unchanged outwards? Drops those that are
 * proven stale. */
static inline bool walk_matches(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
    uint32_t n = w->count;
    while (n && w->frames[n - 1].sp < sp)
        n--;
    w->count = n;
    if (!n || w->frames[n - 1].sp != sp)
        return false;
    const struct walk_frame *f = &w->frames[n - 1];
    if ((f->address & PC_MASK) != pc || (f->fp_matters && f->fp != fp)) {
        w->count = n - 1;
        return false;
    }
    uint32_t stale = walk_changed(w->reads, f->reads);
    if (__builtin_expect(!stale, 1))
        return true;
    /* Frames further out may be unchanged: the walk will see. */
    while (n && w->frames[n - 1].reads >= stale)
        n--;
    w->count = n;
    return false;
}

/*
 * One step with all registers. They are captured here and restored to those of the frame at (pc,
 * sp) through our own functions, whose call frame information is as good as any.
 */
static __attribute__((noinline)) enum step_end walk_slowly(const struct unwind_space *space,
                                                           struct walk_step *s, uint64_t *pc,
                                                           uint64_t *sp, uint64_t *fp)
{
    struct arch_registers r = {0};
    struct step_result result = {0};
    enum step_end end = STEP_LOST;
    arch_capture(&r);
    for (uint32_t i = 0; r.value[ARCH_REG_PC] != *pc || r.value[ARCH_REG_SP] != *sp; i++)
        if (i == WALK_FRAMES || unwind_step(space, &r, &result) != STEP_OK)
            goto out;
    end = unwind_step(space, &r, &result);
    s->address = *pc | (uint64_t)result.epoch << 48;
out:
    s->return_slot = end == STEP_OK ? result.return_slot : 0;
    s->return_value = s->return_slot ? walk_load(s->return_slot) : 0;
    s->fp_slot = end == STEP_OK ? result.fp_slot : 0;
    s->fp_value = *fp = r.value[ARCH_REG_FP];
    s->uses_fp = true;
    *pc = r.value[ARCH_REG_PC];
    *sp = r.value[ARCH_REG_SP];
    return end;
}

void walk_stack(struct walk *w, struct rules *rules, const struct unwind_space *space, uint64_t pc,
                uint64_t sp, uint64_t fp)
{
    uint32_t steps = 0, slow = 0; /* slow: steps up to and including the last slow one */
    unsigned slow_steps = 0;
    enum walk_root root;
    if (w->count > w->trusted)
        w->count = w->trusted;
    const uint64_t top_pc = pc, top_sp = sp, top_fp = fp;
again:
    for (;;) {
        if (walk_matches(w, pc, sp, fp))
            goto matched;
        if (__builtin_expect(steps == WALK_FRAMES, 0)) {
            root = WALK_TRUNCATED;
            break;
        }
        rule_word rule = rule_get(rules, space, pc);
        struct walk_step *s = &w->steps[steps];
        s->address = pc | (uint64_t)rule_epoch(rule) << 48;
        s->sp = sp;
        s->fp = fp;
        s->fp_slot = s->deref_slot = 0;
        s->uses_fp = false;
        uint64_t cfa = sp + (uint64_t)rule_cfa_offset(rule);
        if (__builtin_expect(rule_kind(rule) != RULE_SP, 0))
            switch (rule_kind(rule)) {
            case RULE_FP:
                cfa = fp + (uint64_t)rule_cfa_offset(rule);
                s->uses_fp = true;
                break;
            case RULE_FP_DEREF:
                s->deref_slot = fp + (uint64_t)rule_cfa_offset(rule);
                if (s->deref_slot <= sp - 256 || s->deref_slot >= w->stack_end)
                    goto lost;
                cfa = s->deref_value = walk_load(s->deref_slot);
                s->uses_fp = true;
                break;
            case RULE_GUESS:
                cfa = fp + 16;
                s->uses_fp = true;
                if (fp == 0) {
                    if (!frame_pointer_is_outermost(space, sp, w->stack_end, !w->stack_sure))
                        goto lost;
                    s->return_slot = 0;
                    steps++;
                    root = WALK_WHOLE;
                    goto end;
                }
                w->any_site = true;
                if (fp >= w->stack_end ||
                    !frame_pointer_is_plausible(space, w->sites, pc, sp, fp, !w->stack_sure))
                    goto lost;
                break;
            case RULE_OUTERMOST:
                s->return_slot = 0;
                steps++;
                root = WALK_WHOLE;
                goto end;
            default: {
                if (++slow_steps > WALK_SLOW_STEPS)
                    goto lost;
                enum step_end end = walk_slowly(space, s, &pc, &sp, &fp);
                slow = ++steps;
                if (end == STEP_OK) {
                    if (sp <= s->sp || sp >= w->stack_end) { /* it switched to another stack */
                        w->stack_end = WALK_NO_END;
                        w->stack_sure = false;
                    }
                    continue;
                }
                root = end == STEP_OUTERMOST ? WALK_WHOLE : WALK_INCOMPLETE;
                goto end;
            }
            }
        /* A caller's frame is further out, and on the stack; anything else is damage. */
        if (__builtin_expect(cfa <= sp || cfa > w->stack_end, 0))
            goto lost;
        s->return_slot = cfa + (uint64_t)rule_return_offset(rule);
        s->return_value = walk_load(s->return_slot);
        /* While we check whether that frame is cached. */
        rule_prefetch(rules, arch_return_address(s->return_value));
        if (rule_kind(rule) == RULE_FP_DEREF || rule_kind(rule) == RULE_GUESS) {
            s->fp_slot = fp;
            s->fp_value = fp = walk_load(fp);
        } else if (rule_fp_offset(rule)) {
            s->fp_slot = cfa + (uint64_t)rule_fp_offset(rule);
            s->fp_value = fp = walk_load(s->fp_slot);
        }
        if (!ARCH_RECORD_ENDS_FRAME && rule_kind(rule) == RULE_GUESS &&
            !rule_record_sp(rule_get(rules, space, arch_return_address(s->return_value)), fp, &cfa))
            goto lost;
        steps++;
        pc = arch_return_address(s->return_value);
        sp = cfa;
        if (__builtin_expect(pc < 4096, 0)) {
            s->return_slot = s->fp_slot = 0; /* a frame without a caller: the outermost */
            root = rule_kind(rule) == RULE_GUESS ? WALK_INCOMPLETE : WALK_WHOLE;
            goto end;
        }
        continue;
    lost:
        s->return_slot = s->fp_slot = s->deref_slot = 0;
        steps++;
        root = WALK_INCOMPLETE;
        break;
    }
end:
    w->count = 0; /* no cached frame is part of this stack */
    w->root = root;
matched:
    /* What was cut off while the stack was deeper may fit by now. */
    if (__builtin_expect(w->root == WALK_TRUNCATED && w->count, 0) &&
        w->count + steps < WALK_FRAMES / 2) {
        w->count = steps = slow = slow_steps = 0;
        w->root = WALK_WHOLE;
        pc = top_pc, sp = top_sp, fp = top_fp;
        goto again;
    }
    w->walked += steps;
    w->verified += w->count;
    walk_remember(w, steps);
    w->trusted = w->count - slow;
}
