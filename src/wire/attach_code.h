/*
 * attach_code: the code that `tidemark attach` copies into a program, and its data.
 *
 * It runs once: as the start of a thread of its own, or called by the program's only thread. It
 * loads the library from /proc/self/fd/N, looks up tidemark_attach and calls that. It is written in
 * assembly (src/arch/MACHINE/attach_code.c), because it must not depend on where it is.
 */
#ifndef TIDE_WIRE_ATTACH_CODE_H
#define TIDE_WIRE_ATTACH_CODE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/attach.h"

/* Offsets into struct attach_work, for the assembly. */
#define ATTACH_OFFSET_SELF       0
#define ATTACH_OFFSET_DETACH     8
#define ATTACH_OFFSET_DLOPEN     16
#define ATTACH_OFFSET_DLSYM      24
#define ATTACH_OFFSET_DLERROR    32
#define ATTACH_OFFSET_FUNCTION   40
#define ATTACH_OFFSET_DONE       48
#define ATTACH_OFFSET_RESULT     52
#define ATTACH_OFFSET_TID        56
#define ATTACH_OFFSET_PATH       64
#define ATTACH_OFFSET_NAME       96
#define ATTACH_OFFSET_ERROR      128
#define ATTACH_OFFSET_SESSION    384
#define ATTACH_OFFSET_ERROR_SIZE 256
#define ATTACH_TEXT(x)           #x
#define ATTACH_VALUE(x)          ATTACH_TEXT(x)
#define ATTACH_AT(name)          ATTACH_VALUE(ATTACH_OFFSET_##name)

enum attach_done { ATTACH_NOT_DONE, ATTACH_CALLED, ATTACH_NOT_LOADED };

struct attach_work {
    uint64_t self, detach; /* pthread_self and pthread_detach; 0: it has no thread of its own */
    uint64_t dlopen, dlsym, dlerror;
    uint64_t function; /* tidemark_attach; 0: the library is to be loaded */
    uint32_t done;     /* enum attach_done; written last */
    int32_t result;    /* of tidemark_attach */
    uint32_t tid;      /* of the thread that runs it, as the program sees it */
    uint32_t unused;
    char path[32]; /* of the library */
    char name[32]; /* of tidemark_attach */
    char error[ATTACH_OFFSET_ERROR_SIZE];
    struct wire_attach session;
};
static_assert(offsetof(struct attach_work, dlopen) == ATTACH_OFFSET_DLOPEN, "assembly");
static_assert(offsetof(struct attach_work, function) == ATTACH_OFFSET_FUNCTION, "assembly");
static_assert(offsetof(struct attach_work, tid) == ATTACH_OFFSET_TID, "assembly");
static_assert(offsetof(struct attach_work, path) == ATTACH_OFFSET_PATH, "assembly");
static_assert(offsetof(struct attach_work, error) == ATTACH_OFFSET_ERROR, "assembly");
static_assert(offsetof(struct attach_work, session) == ATTACH_OFFSET_SESSION, "assembly");

/*
 * The code to which functions return that the tool has a thread call. It says that the function has
 * returned and waits until the tool restores the thread. If the tool was killed and that does not
 * happen, it restores the thread itself by the frame on its stack (machine/remote_frame.h). It
 * takes at most RETURN_CODE_MOST bytes; its data are RETURN_OFFSET_WORDS bytes after its beginning.
 */
#define RETURN_CODE_MOST    64
#define RETURN_OFFSET_WORDS 576
#define RETURN_WAITS        "200" /* of 10 ms each */
struct return_words {
    uint64_t result; /* of the function */
    uint64_t done;   /* not 0: it has returned */
    uint64_t none;   /* a set of no signals */
    int64_t seconds, ns;
};
#define RETURN_WORDS ((struct return_words){.ns = 10000000})

/* The code itself, in the tool. */
extern const char return_code[] __attribute__((visibility("hidden")));
extern const char return_code_end[] __attribute__((visibility("hidden")));
extern const char attach_code[] __attribute__((visibility("hidden")));
extern const char attach_code_end[] __attribute__((visibility("hidden")));

#endif
