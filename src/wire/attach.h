/*
 * attach: what `tidemark attach` and the library that it loads into a running program know about
 * each other.
 *
 * The library exports two functions and one object. `tidemark_attach` prepares everything in the
 * program: the connection to the collector, and the code to which the entries of the allocation
 * functions will lead. The object lists these entries. The tool writes them from outside, while all
 * threads of the program are stopped, and restores them in the same way. `tidemark_detached` frees
 * the memory of the session; it is called while all other threads are stopped.
 */
#ifndef TIDE_WIRE_ATTACH_H
#define TIDE_WIRE_ATTACH_H

#include <assert.h>
#include <stdint.h>

#include "wire/layout.h"

#define WIRE_ATTACH_FUNCTION "tidemark_attach"
#define WIRE_ATTACH_OBJECT   "tidemark_attached"
#define WIRE_DETACH_FUNCTION "tidemark_detached"
#define WIRE_ATTACH_NAME     "libtidemark.so" /* of the memfd that holds the library */

#define WIRE_ATTACH_MAGIC   UINT64_C(0x646568636174746e)
#define WIRE_ATTACH_SOCKET  108
#define WIRE_ATTACH_PATCHES 96
#define WIRE_PATCH_BYTES    16

/* Where the session is; the argument of tidemark_attach. */
struct wire_attach {
    char socket[WIRE_ATTACH_SOCKET];
    char key[WIRE_KEY_SIZE + 4]; /* ended by a NUL */
    int32_t library_fd;          /* to be closed; -1: none */
    uint32_t drop;               /* the program prefers losing events to waiting */
};

/* The results of tidemark_attach other than 0. */
enum wire_attach_failure {
    WIRE_ATTACH_BUSY = 1,  /* there is a session */
    WIRE_ATTACH_NO_MALLOC, /* no malloc was found */
    WIRE_ATTACH_CODE,      /* the entries of its allocation functions cannot be replaced */
    WIRE_ATTACH_COLLECTOR  /* the collector could not be reached, or refused */
};

struct wire_patch {
    uint64_t address;
    uint8_t before[WIRE_PATCH_BYTES], patch[WIRE_PATCH_BYTES]; /* of `patch_size` bytes */
};

/* The object that the library exports. Zero except for the magic until tidemark_attach was
 * called. */
struct wire_attached {
    uint64_t magic;
    uint32_t version;    /* WIRE_VERSION */
    uint32_t patch_size; /* bytes of each patch */
    uint32_t count;      /* of patches */
    uint32_t live;       /* tidemark_attach has returned 0, and tidemark_detached was not called */
    uint32_t patched;    /* written by the tool: the entries lead to the library */
    uint32_t unused;
    int64_t thread_offset; /* from the thread pointer: its state in the library, a pointer, */
    int64_t busy_offset;   /* and whether it is in a hook, a word */
    struct wire_attach session;
    struct wire_patch patches[WIRE_ATTACH_PATCHES];
};
static_assert(sizeof(struct wire_attach) == 152, "wire ABI");
static_assert(sizeof(struct wire_patch) == 40, "wire ABI");
static_assert(sizeof(struct wire_attached) == 48 + 152 + 40 * WIRE_ATTACH_PATCHES, "wire ABI");

#endif
