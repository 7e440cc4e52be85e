/*
 * remote_patches: writes the patches that redirect the allocation functions of another process to
 * libtidemark.so, while all threads are stopped. inject.h describes the whole attach.
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_PATCHES_H
#define TIDE_COLLECT_ATTACH_REMOTE_PATCHES_H

#include "collect/attach/inject.h"
#include "collect/attach/scratch.h"

/* Writes the patches that the library has listed, counts what was allocated before (if asked), and
 * unmaps the scratch memory. */
int remote_patches_write(pid_t pid, struct scratch *scratch, const struct remote_way *way,
                         bool count_before, struct injection_result *out, struct err *err);

#endif
