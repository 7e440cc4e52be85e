/*
 * inject: brings the library into a program that runs, lets the entries of its allocation functions
 * lead there, and takes all of it back.
 *
 * 1. The library's bytes go into a memory file of the program (memfd_create, by a system call that a
 *    stopped thread is made to do): paths, users and mount namespaces do not matter.
 * 2. A thread at a safe point (safe_point.h) starts a new thread, which loads the library and calls
 *    tidemark_attach while all others run: nobody waits for it. A program with one thread is made to
 *    do that itself.
 * 3. All threads are stopped for a moment. None may be in the bytes that are to be replaced; then
 *    they are written, and the program goes on.
 *
 * Restoring is step 3 the other way round. Once no thread is in a hook, the memory of the session
 * is given back. The library stays, and is used again.
 *
 * Uses ptrace: to be called in a process of its own (attach_process.h), with whose end all threads
 * are let go. Needs no collector but for step 2.
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
    uint64_t stopped_ns; /* how long all threads stood still */
    unsigned tries;      /* stops until a thread was at a safe point */
    unsigned functions;  /* whose entries were replaced */
    struct heap_before before;
};

/* 0, or a negative errno and a sentence; then the program is as it was. `count_before`: what it has
 * allocated up to now. */
int inject_attach(pid_t pid, const char *library, const struct wire_attach *session,
                  bool count_before, struct injection_result *out, struct err *err);

/* 0 also if there was nothing to restore (*found is false then). -EBUSY: a thread did not stop in
 * time; another process may try again, as that thread is ours until we end. */
int inject_restore(pid_t pid, bool *found, struct err *err);

/* What the library in a process says of itself; false: it is not there, or not of this version. */
bool inject_read(pid_t pid, struct wire_attached *out);

#endif
