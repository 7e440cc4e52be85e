/*
 * scratch: prepares what remote calls need in another process: memory to work in, and the code of
 * its libc that calls the kernel.
 */
#ifndef TIDE_COLLECT_ATTACH_SCRATCH_H
#define TIDE_COLLECT_ATTACH_SCRATCH_H

#include "base/err.h"
#include "collect/attach/remote_call.h"
#include "collect/attach/remote_module.h"

/* Memory in the program that the attach uses for a while. */
struct scratch {
    uint64_t start, size; /* start 0: none */
    uint64_t code, back;  /* code is executable */
    uint64_t data, work, stack_end;
};
int scratch_map(struct scratch *s, struct remote_thread *t, struct err *err);
void scratch_unmap(struct scratch *s, struct remote_thread *t);

/* Opens /proc/PID/mem. Returns a descriptor, or a negative errno. */
int memory_open_for_writing(pid_t pid);
/* Finds the code in libc through which threads call the kernel; false: it was not found. */
bool remote_way_find(struct remote_modules *m, struct remote_module *libc, int memory,
                     struct remote_way *out);

#endif
