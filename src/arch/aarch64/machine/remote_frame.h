/*
 * remote_frame: a frame by which a thread restores itself. None on aarch64, where `tidemark attach`
 * refuses.
 */
#ifndef TIDE_MACHINE_REMOTE_FRAME_H
#define TIDE_MACHINE_REMOTE_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define REMOTE_RED_ZONE   0
#define REMOTE_FRAME_MOST 4096

static inline size_t remote_frame(const struct user_regs_struct *r, uint64_t mask,
                                  const char *vectors, size_t vectors_size, uint64_t returns_to,
                                  uint64_t end, char out[REMOTE_FRAME_MOST], uint64_t *address)
{
    (void)r, (void)mask, (void)vectors, (void)vectors_size, (void)returns_to, (void)out;
    *address = end;
    return 0;
}

#endif
