/* Go is not unwound on aarch64: if Go calls C code that allocates, the stack ends where C begins,
 * and counts as incomplete. */
#include "unwind/go_stack.h"

bool go_switches(const struct unwind_space *space, const struct unwind_module *module, uint64_t pc)
{
    (void)space;
    (void)module;
    (void)pc;
    return false;
}

bool go_is_first(const struct unwind_space *space, const struct unwind_module *module, uint64_t pc)
{
    (void)space;
    (void)module;
    (void)pc;
    return false;
}

enum step_end go_step(const struct unwind_space *space, struct arch_registers *r,
                      struct step_result *result)
{
    (void)space;
    (void)r;
    (void)result;
    return STEP_LOST;
}
