/*
 * remote_patches: finds libtidemark.so in another process, and writes or removes the patches
 * that redirect the allocation functions to it, while all threads are stopped. inject.h describes
 * the whole attach.
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_PATCHES_H
#define TIDE_COLLECT_ATTACH_REMOTE_PATCHES_H

#include "collect/attach/inject.h"
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

/* Was the library loaded before? Sets *function to the address of tidemark_attach, or to 0. It is
 * an error if the library was preloaded, is of another version, or is in use. */
int remote_patches_find(struct remote_modules *m, uint64_t *function, struct wire_attached *there,
                        struct err *err);

/* Writes the patches that the library has listed, counts what was allocated before (if asked), and
 * unmaps the scratch memory. */
int remote_patches_write(pid_t pid, struct scratch *scratch, const struct remote_way *way,
                         bool count_before, struct injection_result *out, struct err *err);

#endif
