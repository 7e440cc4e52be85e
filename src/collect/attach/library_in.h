/*
 * library_in: the library in another process: finding it, and letting the entries of the allocation
 * functions lead to it or not, while all threads stand still. inject.h has the whole.
 */
#ifndef TIDE_COLLECT_ATTACH_LIBRARY_IN_H
#define TIDE_COLLECT_ATTACH_LIBRARY_IN_H

#include "collect/attach/inject.h"
#include "collect/attach/remote_call.h"
#include "collect/attach/remote_module.h"

/* Memory in the program that is ours for a while. */
struct scratch {
    uint64_t start, size; /* start 0: none */
    uint64_t code, back;  /* can be executed */
    uint64_t data, work, stack_end;
};
int scratch_map(struct scratch *s, struct remote_thread *t, struct err *err);
void scratch_unmap(struct scratch *s, struct remote_thread *t);

/* /proc/PID/mem, or a negative errno. */
int memory_open_for_writing(pid_t pid);
/* How threads call the kernel by libc's code; false: that was not found. */
bool remote_way_find(struct remote_modules *m, struct remote_module *libc, int memory,
                     struct remote_way *out);

/* Was it brought there before? *function: tidemark_attach there, or 0. An error: it was preloaded,
 * or is of another version, or in use. */
int library_in_process(struct remote_modules *m, uint64_t *function, struct wire_attached *there,
                       struct err *err);

/* Writes the patches that the library has listed, counts what was there before, and gives back the
 * scratch memory. */
int library_patch(pid_t pid, struct scratch *scratch, const struct remote_way *way,
                  bool count_before, struct injection_result *out, struct err *err);

#endif
