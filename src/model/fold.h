/*
 * fold: which call of a stack is charged for what was allocated at its end. Calls at the innermost
 * end that only pass memory on are folded into their caller: those of the allocator, of std:: and,
 * for memory of graphics processors, of the driver.
 */
#ifndef TIDE_MODEL_FOLD_H
#define TIDE_MODEL_FOLD_H

#include <stdbool.h>
#include <stdint.h>

/* Which call of a stack is charged: the innermost one that is not folded, or the innermost Python
 * call, if there is one. */
enum charge { CHARGE_INNERMOST, CHARGE_PYTHON };

struct fold {
    const uint32_t *parent; /* call -> its caller; 0: there is none */
    const uint16_t *flags;  /* call -> enum call_flag */
    bool in_place;          /* the metric is charged where it happens: nothing is folded */
    bool gpu;
    bool no_fold; /* std:: is kept */
};

/* Returns the call that is charged instead of `call`; 0: no call is left. `has_python`: its stack
 * has calls of Python. */
uint32_t fold_charged(const struct fold *f, uint32_t call, enum charge charge, bool has_python);

#endif
