/*
 * attach_checks: whether tidemark can attach to a process, and if not, why not. The attach itself
 * is in collect/attach/inject.h.
 */
#ifndef TIDE_COLLECT_SESSION_ATTACH_CHECKS_H
#define TIDE_COLLECT_SESSION_ATTACH_CHECKS_H

#include <sys/types.h>

#include "base/err.h"

/* Returns 0, or a negative errno and a sentence that says why tidemark cannot attach to the
 * process. Changes nothing. */
int attach_check(pid_t pid, struct err *err);

#endif
