/*
 * remote_module: the files that another process has mapped, and the functions that they export.
 *
 * Everything is read from the process's memory and /proc/PID/maps, never from the files: a file may
 * have been replaced since, or be in another mount namespace. The process is not trusted: sizes and
 * offsets are checked. Nothing is written, and the module keeps no state.
 */
#ifndef TIDE_COLLECT_ATTACH_REMOTE_MODULE_H
#define TIDE_COLLECT_ATTACH_REMOTE_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/proc/remote_memory.h"

struct remote_module {
    char *path;
    uint64_t start, end;           /* the range of all mappings of the file */
    uint64_t code_start, code_end; /* the executable mappings; equal: there are none */
    uint64_t data_start, data_end; /* the writable mappings, without .bss */
    uint64_t bias;
    bool read;     /* the fields below are set */
    char *symbols; /* Elf64_Sym */
    size_t symbol_count;
    char *strings; /* ended by a NUL */
    size_t strings_size;
    uint16_t *versions; /* versions of the symbols; NULL: there are none */
    /* A copy of the part of the module that holds its unwind tables (remote_stack.c). */
    bool tables_read;
    char *tables; /* NULL: the module has none */
    /* tables_header is the offset from the module's start. */
    uint64_t tables_size, tables_address, tables_header;
};

struct remote_region {
    uint64_t start, end;
    bool executable;
    bool is_stack; /* the kernel names the mapping "[stack]" */
};

struct remote_modules {
    pid_t pid;
    struct remote_memory memory;
    VEC(struct remote_module) items;
    VEC(struct remote_region) regions;
};

/* Lists the modules of a process. Returns 0, or a negative errno. */
int remote_modules_open(struct remote_modules *m, pid_t pid);
void remote_modules_release(struct remote_modules *m);
/* Finds a module by the beginning of its file name, up to a dot or a dash: "libc" finds libc.so.6
 * and libc-2.31.so. NULL: there is none. */
struct remote_module *remote_module_named(struct remote_modules *m, const char *name);
struct remote_module *remote_module_at(struct remote_modules *m, uint64_t address);
const struct remote_region *remote_region_at(const struct remote_modules *m, uint64_t address);

struct remote_function {
    uint64_t address, size;
};
/* Finds a function or object that the module exports; false: it exports none of that name. */
bool remote_function(struct remote_modules *m, struct remote_module *in, const char *name,
                     struct remote_function *out);
/* Calls `see` for each function that the module exports. */
void remote_functions(struct remote_modules *m, struct remote_module *in,
                      void (*see)(void *context, uint64_t address, uint64_t size), void *context);

#endif
