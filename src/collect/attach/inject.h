/*
 * inject: loads the library into a running program, redirects its allocation functions to the
 * library, and undoes this.
 *
 * 1. tidemark writes the library into a memory file of the program. It makes a stopped thread of
 * the program call memfd_create for this, so paths, users and mount namespaces do not matter.
 * 2. A thread at a safe point (safe_point.h) starts a new thread. The new thread loads the library
 * and calls tidemark_attach while all others run, so the program does not wait. If the program has
 * only one thread, that thread loads the library itself.
 * 3. tidemark stops all threads for a moment. If none is inside the bytes that are to be replaced,
 * it replaces them, and the program continues.
 *
 * Restoring (detach.c) writes back the bytes of step 3. Once no thread is in a hook, the memory of
 * the session is freed. The library stays loaded, and the next attach uses it again.
 *
 * Uses ptrace. Call it in a process of its own (attach_process.h): when that process ends, the
 * kernel releases all threads. Only step 2 needs a collector.
 */
#ifndef TIDE_COLLECT_ATTACH_INJECT_H
#define TIDE_COLLECT_ATTACH_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/attach/heap_before.h"
#include "wire/attach.h"

struct injection_result {
    uint64_t stopped_ns; /* for how long all threads were stopped */
    unsigned tries;      /* how many stops it took to find a thread at a safe point */
    unsigned functions;  /* how many functions had their entries replaced */
    struct heap_before before;
};

/* Attaches to a process. Returns 0, or a negative errno and a sentence; after an error the program
 * is unchanged. `count_before`: also count what the program has allocated up to now. */
int inject_attach(pid_t pid, const char *library, const struct wire_attach *session,
                  bool count_before, struct injection_result *out, struct err *err);

/* Detaches from a process. Returns 0 also if there was nothing to restore; *found is false then.
 * -EBUSY: a thread did not stop in time. Another process may try again, but not this one, which
 * traces that thread until it ends. */
int inject_restore(pid_t pid, bool *found, struct err *err);

/* Reads the table of the library in a process; false: no library of this version is there. */
bool inject_read(pid_t pid, struct wire_attached *out);

#endif
