/*
 * remote_stack: the call stack of a stopped thread of another process, from its registers and its
 * memory. The unwind tables, too, are read from the process's memory.
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_STACK_H
#define TIDE_COLLECT_ATTACH_REMOTE_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "collect/attach/remote_module.h"

#define REMOTE_FRAMES 4096

/* Fills `frames` with the current address and the return addresses, innermost first, and returns
 * how many there are. `end` is where the thread's stack ends. 0: the stack cannot be unwound to its
 * end. */
uint32_t remote_stack(struct remote_modules *m, const struct user_regs_struct *r, uint64_t end,
                      uint64_t frames[REMOTE_FRAMES]);

#endif
