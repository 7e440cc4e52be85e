/*
 * libc: functions that newer versions of glibc have, and older ones have elsewhere or not at all.
 *
 * Linking such a function would bind us to the version that has it, and a program with an older one
 * could not load us. So they are looked up in the tables of the files that the program starts with,
 * and there is a fallback for each. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_LIBC_H
#define TIDE_RECORD_LIBC_H

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

/* As glibc 2.35 and later declare it. */
struct libc_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

/* As glibc 2.33 and later declare the answer of mallinfo2. */
struct libc_mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* Declared in the headers of glibc 2.34 and later only. */
int execveat(int folder, const char *path, char *const argv[], char *const environment[],
             int flags);
pid_t _Fork(void);

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* NULL if missing: before 2.35 the first; in 2.28 to 2.33 those of threads and of dlfcn.h while
 * libpthread and libdl are not loaded. */
struct libc {
    int (*find_object)(void *, struct libc_object *);
    const char *single_threaded;
    void *(*dlsym)(void *, const char *);
    char *(*dlerror)(void);
    int (*attr_getstacksize)(const pthread_attr_t *, size_t *);
    int (*getcpuclockid)(pthread_t, clockid_t *);
    int (*key_create)(pthread_key_t *, void (*)(void *));
    void *(*getspecific)(pthread_key_t);
    int (*setspecific)(pthread_key_t, const void *);
    bool searched; /* libc_find_missing was called */
};
extern struct libc libc;

/* Finds those functions of `libc` that were not found before. Called again when a thread begins:
 * libpthread is loaded by then. */
void libc_find_missing(void);

/* What the name means to the files after us, as with RTLD_NEXT. */
void *libc_next(const char *name);

/* The same, including files that were loaded later. */
void *libc_find(const char *name);

/* What the name means to the program. */
void *libc_default(const char *name);

#endif
