/*
 * remote_stack: the call stack of a thread of another process that stands still, from its registers
 * and its memory. The unwind tables are read from the process's memory too.
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_STACK_H
#define TIDE_COLLECT_ATTACH_REMOTE_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "collect/attach/remote_module.h"

#define REMOTE_FRAMES 4096

/* Return addresses, innermost first, and the place where it stands; how many. `end`: of its stack.
 * 0: the stack cannot be followed to its end. */
uint32_t remote_stack(struct remote_modules *m, const struct user_regs_struct *r, uint64_t end,
                      uint64_t frames[REMOTE_FRAMES]);

#endif
