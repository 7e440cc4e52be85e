/*
 * A hook that finds the thread busy. Either it is inside another hook (an allocator that calls
 * itself, a signal handler that interrupted us), and must not be recorded; or the other hook no
 * longer exists, because it was left by longjmp, by an exception or by cancellation, and recording
 * goes on.
 *
 * `tls.busy` is the address of the hook's frame record. Whether that frame is still in use cannot
 * be decided from addresses alone: a handler may run on another stack, and after a longjmp other
 * frames may be above and below. So the stack is unwound from the hook outwards, through signal
 * frames: a running hook is on it. The frames of this check itself, further in, may be where the
 * other hook was. If the stack cannot be unwound to its end, the thread stays busy, which loses
 * events but harms nothing.
 */
#include "record/recorder.h"
#include "unwind/slow_step.h"

#define MOST_FRAMES 100000
#define NEAR        2048 /* bytes of stack between a wrapper of CPython's and what it calls */
#define RECORD_SIZE 16   /* of a frame record */

static bool is_own_code(uint64_t pc)
{
    struct unwind_module own, m;
    return quiet_space.find(&quiet_space, (uint64_t)(uintptr_t)hook_nested, &own) == 0 &&
           quiet_space.find(&quiet_space, pc - 1, &m) == 0 && m.cfi.begin == own.cfi.begin;
}

/*
 * While CPython's allocator is running, what is called on the next few frames is called by it: that
 * is malloc for every larger object, and must be fast. Nobody leaves these functions by longjmp.
 */
static bool is_beneath(uintptr_t frame)
{
    return tls.beneath && frame < tls.busy && tls.busy - frame < NEAR;
}

/* Meanwhile the thread is not inside a wrapper, but busy: for a signal handler. */
struct thread *beneath_enter(enum beneath *was)
{
    struct thread *t = tls.beneath ? tls.thread : NULL;
    *was = tls.beneath;
    if (!t)
        return NULL;
    tls.beneath = BENEATH_NOTHING;
    atomic_signal_fence(memory_order_seq_cst);
    if (*was == BENEATH_REALLOC)
        event_realloc_failed(t);
    return t;
}

void beneath_leave(struct thread *t, enum beneath was)
{
    if (was == BENEATH_REALLOC)
        event_realloc(t, tls.around, NULL, FREE_MAYBE);
    atomic_signal_fence(memory_order_seq_cst);
    tls.beneath = was;
}

/* A block may have been allocated before the wrapper existed: with a debugging allocator between
 * the two, it has another address. */
void free_beneath(void *p, usable_of *usable)
{
    if (LIKELY(!tls.beneath) || tls.beneath == BENEATH_ALLOC || !p || p == tls.around)
        return;
    enum beneath was;
    struct thread *t = beneath_enter(&was);
    if (t) {
        event_free(t, p, usable, FREE_MAYBE);
        beneath_leave(t, was);
    }
}

/* Does the frame record at `record` belong to the frame from `sp` to `end`? */
static bool is_record_of(uintptr_t record, uint64_t sp, uint64_t end)
{
    return ARCH_RECORD_ENDS_FRAME ? end == record + RECORD_SIZE : record >= sp && record < end;
}

bool hook_nested(uintptr_t frame)
{
    if (is_beneath(frame))
        return true;
    struct arch_registers r;
    struct step_result result;
    bool outside = false; /* of the hook that asks */
    arch_capture(&r);
    for (uint32_t i = 0; i < MOST_FRAMES; i++) {
        uint64_t pc = r.value[ARCH_REG_PC], sp = r.value[ARCH_REG_SP];
        enum step_end end = unwind_step(&quiet_space, &r, &result);
        if (end == STEP_LOST || (end == STEP_OUTERMOST && !outside))
            return true;
        if (end == STEP_OUTERMOST) {
            if (tls.thread)
                thread_recover(tls.thread);
            tls.busy = 0;
            tls.beneath = BENEATH_NOTHING;
            return false;
        }
        if (outside && is_record_of(tls.busy, sp, r.value[ARCH_REG_SP]) && is_own_code(pc))
            return true;
        outside |= is_record_of(frame, sp, r.value[ARCH_REG_SP]);
    }
    return true;
}
