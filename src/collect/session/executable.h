/*
 * executable: what a program file tells about whether it can be recorded, before it is run or
 * after.
 *
 * Files are opened as src/symbol opens them: a hostile one does no harm. Nothing is executed.
 */
#ifndef TIDE_COLLECT_SESSION_EXECUTABLE_H
#define TIDE_COLLECT_SESSION_EXECUTABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum executable_kind {
    EXECUTABLE_DYNAMIC, /* our loader, our word size: it can be preloaded into */
    EXECUTABLE_STATIC,  /* static-pie too */
    EXECUTABLE_32_BIT,
    EXECUTABLE_FOREIGN,      /* for another machine */
    EXECUTABLE_OTHER_LOADER, /* another C library's */
    EXECUTABLE_UNKNOWN,      /* not ELF, or not readable */
};

/* Where its own malloc is, if it has one. */
enum own_malloc {
    OWN_MALLOC_NONE,
    OWN_MALLOC_HIDDEN,   /* its own calls go there, whatever is preloaded; libraries' do not */
    OWN_MALLOC_EXPORTED, /* everybody's calls go there: the program comes before what is preloaded
                          */
};

struct executable {
    enum executable_kind kind;
    enum own_malloc own_malloc;
    bool is_go;
    bool imports_malloc;   /* or another allocation function */
    bool has_symbols;      /* a symbol table: own_malloc can be trusted */
    bool has_suppressions; /* for LeakSanitizer: lsan.h */
    const char *inner; /* an allocator that it has beside malloc, by name; NULL: none is known */
    /* For libraries, relative to where they are loaded; 0: none. */
    uint64_t malloc_address; /* of the malloc it exports */
    uint64_t malloc_slot;    /* where the loader puts the address of the malloc that it calls, */
    uint64_t free_slot;      /* and of the free */
};

/* The kind alone costs little; the rest reads the symbol tables. */
enum executable_kind executable_kind(const char *path);
struct executable executable_look(const char *path);

/* The file that execvp would run; NULL: none. Caller frees. */
char *executable_find(const char *name);
/* The program that runs if this file is executed: itself, or at the end of its #! lines. Caller
 * frees. */
char *executable_interpreter(const char *path);

/* Would a process of these real and effective ids get other rights by running it, so that the
 * loader ignores LD_PRELOAD? (Set-id bits and file capabilities.) */
bool executable_changes_rights(const char *path, uid_t ruid, uid_t euid, gid_t rgid, gid_t egid);

#endif
