/*
 * code_file: what the unwinder needs to know about a program file or library: where it was loaded,
 * and its call frame information.
 *
 * The bytes are copied, not mapped, so a file that is truncated while it is read does no harm. A
 * file without .eh_frame_hdr (a static program) gets a table of the same form, made from .eh_frame.
 * The kernel's own library ([vdso]) is the same in all processes, so the collector's copy is used.
 *
 * Ownership: code_files_release frees all; a struct code_file stays valid until then.
 */
#ifndef TIDE_COLLECT_NAMING_CODE_FILE_H
#define TIDE_COLLECT_NAMING_CODE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "unwind/cfi.h"

/* A part of the file as it is loaded. */
struct code_segment {
    /* Offset in the file; address: where the file is linked to be loaded. */
    uint64_t offset, size, address;
    bool executable;
};

struct code_file {
    char *path;
    uint64_t key; /* hash of path and build id */
    bool readable;
    VEC(struct code_segment) segments;
    uint8_t *bytes;      /* copied bytes that hold the tables; NULL: no unwind information */
    const uint8_t *base; /* the contents at `address`: `bytes`, or memory of the collector */
    uint64_t size, address;
    const uint8_t *header;
    uint8_t build_id[32];
    uint32_t build_id_size;
};

struct code_files {
    VEC(struct code_file *) files;
};

/* Opens the file when it is asked for the first time. Never NULL: a file that cannot be read has no
 * tables. */
struct code_file *code_file(struct code_files *files, const char *path, const uint8_t *build_id,
                            uint32_t build_id_size);
/* Run-time address minus address in the file, for a mapping at `start` of the file's bytes from
 * `offset` on. */
uint64_t code_file_bias(const struct code_file *f, uint64_t start, uint64_t offset);
/* Finds the call frame information of a file; false: it has none. */
bool code_file_tables(const struct code_file *f, uint64_t bias, struct cfi_section *out);
void code_files_release(struct code_files *files);

#endif
