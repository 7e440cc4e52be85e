/*
 * routes: what happens at a call of malloc, free and the other functions that programs call most.
 *
 * What we export under their names is one jump each, through a word of a page (wire/routes.h):
 *
 *   malloc: jmp *route ─► recorded_malloc     the hook (hooks_malloc.c)
 *                     ├─► sampled_malloc      run --sample: counts bytes down, and goes to the hook
 *                     │                       where a block is to be recorded (arch/MACHINE)
 *                     └─► next.malloc         dormant, or not recorded at all
 *
 * At the start the page is the library's own, with the hooks in it. Where there is a collector it
 * is replaced by a page that both share, in one step of the kernel, while other threads may run.
 * [malloc-free]
 */
#ifndef TIDE_RECORD_ROUTES_H
#define TIDE_RECORD_ROUTES_H

#include "record/recorder.h"
#include "wire/routes.h"

/* Puts the page of this process's shared memory, which begins at `memory`, in the place of ours. */
void routes_share(char *memory, int fd);
/* A session begins: `next` is known, and how much is sampled. */
void routes_begin(void);
/* In a forked child, before it connects: the page is its parent's. */
void routes_forked(void);
/* Nothing is recorded any more. */
void routes_off(void);
/* From now on every free must be seen, dormant or not (python_objects.h). */
void routes_watch_frees(void);
/* A form of operator new or delete was found. `recorded`: its hook does more than to call it. */
void routes_found(enum wire_route form, const void *function, bool recorded);

#endif
