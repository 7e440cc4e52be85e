#include "record/stack_accounts.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"
#include "record/refused_memory.h"

#define PREPARED_WINDOWS 9 /* 32 MiB of addresses */

_Atomic uintptr_t stack_accounts_windows[WIRE_WINDOWS - 1];
static struct refusal refusal;

static uintptr_t bytes_before(unsigned window)
{
    return (uintptr_t)wire_window_start(window) * sizeof(uint32_t);
}

static size_t bytes_of(unsigned window)
{
    return bytes_before(window + 1) - bytes_before(window);
}

/* A forked child finds it zeroed. */
static bool window_map(unsigned window)
{
    uintptr_t none = 0;
    size_t size = bytes_of(window);
    void *start = sys_leaves_room(size) ? sys_map(size) : NULL;
    if (!start)
        return false;
    if (sys_call(SYS_madvise, start, size, (long)MADV_WIPEONFORK) < 0 ||
        !atomic_compare_exchange_strong(&stack_accounts_windows[window], &none,
                                        (uintptr_t)start - bytes_before(window)))
        sys_call(SYS_munmap, start, size);
    else
        recorder_own(start, size);
    return atomic_load(&stack_accounts_windows[window]) != 0;
}

_Atomic uint32_t *stack_accounts_map(uint32_t stack)
{
    unsigned window = wire_window(stack);
    uint32_t tick = atomic_load_explicit(&recorder.header->tick, memory_order_relaxed);
    if (window >= WIRE_WINDOWS - 1 || stack_accounts_at(stack))
        return stack_accounts_at(stack);
    if (!refusal_holds(&refusal, tick))
        refusal_note(&refusal, tick, window_map(window));
    return stack_accounts_at(stack);
}

void stack_accounts_prepare(void)
{
    for (unsigned i = 1; recorder.header && i < PREPARED_WINDOWS; i++)
        if (!atomic_load(&stack_accounts_windows[i]) && !window_map(i))
            return;
}

void stack_accounts_reset(void)
{
    refusal_clear(&refusal);
    for (unsigned i = 0; i < WIRE_WINDOWS - 1; i++) {
        uintptr_t window = atomic_load(&stack_accounts_windows[i]);
        if (window) /* zeroes it */
            sys_call(SYS_madvise, window + bytes_before(i), bytes_of(i), (long)MADV_DONTNEED);
    }
    if (!atomic_load(&stack_accounts_windows[0]))
        window_map(0); /* every program needs it */
}
