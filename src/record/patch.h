/*
 * patch: replaces the first bytes of functions by jumps to our hooks, only in this process's
 * memory. entry_patch.h describes a patch; own_malloc.c, other_names.c and mark_on.c choose the
 * functions.
 *
 * The bytes are written through /proc/self/mem: the kernel copies the page and leaves its
 * protection unchanged, so code is never writable for the program. Kernels since 6.12 can be built
 * to refuse that (PROC_MEM_FORCE_PTRACE); then the page is writable for a moment. Patch only code
 * that no other thread can be executing. One thread at a time patches: it has opened /proc/self/mem
 * (patch_open), and others that want to cannot meanwhile. [malloc-free]
 *
 * A server that root started, and that has another user since, may not open /proc/self/mem. If
 * tidemark attaches to it, code is read by process_vm_readv, and the tool writes it.
 */
#ifndef TIDE_RECORD_PATCH_H
#define TIDE_RECORD_PATCH_H

#include "record/entry_patch.h"

struct patched {
    const char *name;
    const void *hook;
    uint64_t address, size; /* 0: there is no such function, or it is not patched */
    uint64_t trampoline;    /* the original function, once it is patched */
    uint8_t before[ENTRY_PATCH], patch[ENTRY_PATCH];
};

/* The code that patch_read has read; only the beginning of longer functions. */
extern uint8_t patch_code[65536];

/* Opens /proc/self/mem; negative: this failed, or another thread has it open. */
long patch_open(void);
void patch_close(long memory); /* accepts a negative one */
void patch_forked(void);       /* in a forked child, where no other thread patches */
/* Reads a function, and the padding after it up to the end of its page, into patch_code; returns
 * how many bytes. */
size_t patch_read(long memory, uint64_t address, uint64_t size);
/* Reads a function, as patch_read does, and fills *out for entry_make; false: it cannot be read. */
bool patch_read_entry(struct patched *f, long memory, struct entry *out);
/* Writes to memory that is read-only and has this protection; false: the kernel refuses. */
bool patch_bytes(long memory, uint64_t address, const void *bytes, size_t size, int protection);
bool patch_write(long memory, uint64_t address, const uint8_t bytes[ENTRY_PATCH]);
/* Maps memory for slots (stubs and trampolines) within reach of a jump from the file at `start`.
 * The memory is below the file, because the heap grows above an executable; it is writable and not
 * executable yet. NULL: there is none. */
uint8_t *patch_island(uint64_t start, size_t size);
bool patch_make_executable(uint8_t *island, size_t size);

/* Patches all functions that have an address, or none of them. `start` is the address of their
 * file. */
bool patch_all(struct patched *functions, size_t count, uint64_t start, long memory);

#endif
