/*
 * routes: what happens at a call of malloc, free and the other functions that programs call most.
 *
 * Under each of these names we export a single jump, through a word of a page (wire/routes.h):
 *
 *   malloc: jmp *route ─► recorded_malloc     the hook (hooks_malloc.c)
 *                     ├─► sampled_malloc      run --sample: counts bytes down, and goes to the hook
 *                     │                       where a block is to be recorded (arch/MACHINE)
 *                     └─► next.malloc         dormant, or not recorded at all
 *
 * At the start the page belongs to the library and leads to the hooks. If there is a collector, a
 * shared page replaces it, in one system call, while other threads may run. [malloc-free]
 */
#ifndef TIDE_RECORD_ROUTES_H
#define TIDE_RECORD_ROUTES_H

#include "record/recorder.h"
#include "wire/routes.h"

/* Replaces our page by the page in the shared memory of this process, which begins at `memory`. */
void routes_share(char *memory, int fd);
/* Sets all routes when a session begins: `next` is known, and so is the rate of samples. */
void routes_begin(void);
/* Call it in a forked child before it connects, because the page is still its parent's. */
void routes_forked(void);
/* Leads all calls to the original functions, because nothing is recorded any more. */
void routes_off(void);
/* Leads every free to the hook from now on, also while the recorder is dormant
 * (python_objects.h). */
void routes_watch_frees(void);
/* Sets the original function of a form of operator new or delete. `recorded`: its hook does more
 * than call it. */
void routes_found(enum wire_route form, const void *function, bool recorded);

#endif
