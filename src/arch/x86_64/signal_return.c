#include "unwind/signal_return.h"

bool signal_returns(const struct unwind_space *space, uint64_t pc)
{
    (void)space;
    (void)pc;
    return false;
}

enum step_end signal_step(const struct unwind_space *space, struct arch_registers *r,
                          struct step_result *result)
{
    (void)space;
    (void)r;
    (void)result;
    return STEP_LOST;
}
