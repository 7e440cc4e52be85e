/*
 * stopped_program: a program that has the library, whose threads are stopped while its patches are
 * written or removed.
 */
#ifndef TIDE_COLLECT_ATTACH_STOPPED_PROGRAM_H
#define TIDE_COLLECT_ATTACH_STOPPED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/attach/remote_call.h"
#include "collect/attach/remote_module.h"
#include "collect/proc/stop_threads.h"
#include "wire/attach.h"

#define STOPPED_PROGRAM_APART_NS 1000000 /* between two tries to stop the threads */

struct stopped_program {
    struct remote_modules modules;
    struct remote_module *library;
    struct stopped_threads threads;
    struct wire_attached table; /* a copy of what is at table_address */
    uint64_t table_address;
    int memory; /* /proc/PID/mem, for writing */
};

/* Opens the memory of a program and finds the library there; stops no thread yet. Returns 0, or a
 * negative errno: -ENOENT if there is no library. */
int stopped_program_open(struct stopped_program *s, pid_t pid);
/* Opens the program again for another try: there may be new stacks by now. The caller waits
 * STOPPED_PROGRAM_APART_NS before. After an error nothing is left to release. */
int stopped_program_reopen(struct stopped_program *s);
void stopped_program_release(struct stopped_program *s);

/* Reads the program counter of a stopped thread; false: it cannot be read. */
bool stopped_program_read_pc(pid_t tid, uint64_t *pc);
/* Finds a stopped thread that can make calls for us; false: there is none. A thread with a pending
 * signal would lose that signal. */
bool stopped_program_find_worker(const struct stopped_program *s, struct remote_thread *out);

/* Do the entries hold the bytes that the table lists? `patched`: they may hold the patches, or the
 * bytes from before, if a process was killed while it wrote the patches. */
bool stopped_program_entries_are(const struct stopped_program *s, bool patched);
/* Writes the patches, or the bytes from before. The flag `patched` of the table is set before the
 * patches are written and cleared after they are removed: if this process is killed in between, the
 * next one sees from the flag that there may be patches. */
bool stopped_program_write_entries(const struct stopped_program *s, bool patched);

#endif
