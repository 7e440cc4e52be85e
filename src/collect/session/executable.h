/*
 * executable: finds out from a program file whether the program can be recorded.
 *
 * Files are opened as src/symbol opens them: a hostile file does no harm. Nothing is executed.
 */
#ifndef TIDE_COLLECT_SESSION_EXECUTABLE_H
#define TIDE_COLLECT_SESSION_EXECUTABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum executable_kind {
    EXECUTABLE_DYNAMIC, /* our loader and word size: the recorder can be preloaded */
    EXECUTABLE_STATIC,  /* static-pie too */
    EXECUTABLE_32_BIT,
    EXECUTABLE_FOREIGN,      /* for another machine */
    EXECUTABLE_OTHER_LOADER, /* the loader of another C library */
    EXECUTABLE_SANITIZED,    /* it needs a library that must be loaded first (wire/sanitizer.h) */
    EXECUTABLE_UNKNOWN,      /* not ELF, or not readable */
};

/* Where the program's own malloc is, if it has one. */
enum own_malloc {
    OWN_MALLOC_NONE,
    /* The program's calls go to its own malloc, whatever is preloaded; calls from libraries do
     * not. */
    OWN_MALLOC_HIDDEN,
    /* All calls go to the program's malloc, which comes before preloaded ones. */
    OWN_MALLOC_EXPORTED,
};

struct executable {
    enum executable_kind kind;
    enum own_malloc own_malloc;
    bool is_go;
    bool imports_malloc;   /* the file imports malloc or another allocation function */
    bool has_symbols;      /* the file has a symbol table: own_malloc can be trusted */
    bool has_suppressions; /* the file has suppressions for LeakSanitizer */
    /* The name of an allocator that it has besides malloc; NULL: none is known. */
    const char *other_allocator;
    /* For libraries, relative to their load address; 0: none. */
    uint64_t malloc_address; /* the malloc that it exports */
    uint64_t malloc_slot;    /* the GOT slot of the malloc that it calls */
    uint64_t free_slot;      /* the GOT slot of the free that it calls */
};

/* Finding the kind alone is cheap; the rest reads the symbol tables. */
enum executable_kind executable_kind(const char *path);
struct executable executable_examine(const char *path);

/* The file that execvp would run; NULL: none. The caller frees it. */
char *executable_find(const char *name);
/* The program that runs if this file is executed: the file itself, or the interpreter at the end of
 * its #! lines. The caller frees it. */
char *executable_interpreter(const char *path);

/* Would a process with these real and effective ids get other rights by executing the file (set-id
 * bits, file capabilities), so that the loader ignores LD_PRELOAD? */
bool executable_changes_rights(const char *path, uid_t ruid, uid_t euid, gid_t rgid, gid_t egid);

#endif
