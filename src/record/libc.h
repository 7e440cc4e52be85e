/*
 * libc: functions that newer versions of glibc have, and older ones have elsewhere or not at all.
 *
 * If we linked such a function, a program with an older glibc could not load us. So we look these
 * functions up in the tables of the files that the program starts with, and there is a fallback for
 * each. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_LIBC_H
#define TIDE_RECORD_LIBC_H

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

/* struct dl_find_object, as glibc 2.35 and later declare it. */
struct libc_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

/* struct mallinfo2, as glibc 2.33 and later declare it. */
struct libc_mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* Functions that only the headers of glibc 2.34 and later declare. */
int execveat(int folder, const char *path, char *const argv[], char *const environment[],
             int flags);
pid_t _Fork(void);

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Functions of libc; NULL if they are missing. find_object is missing before 2.35. Before 2.34, the
 * functions of threads and of dlfcn.h are missing while libpthread and libdl are not loaded. */
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
    int (*clock_gettime)(clockid_t, struct timespec *);
    bool searched; /* libc_find_missing was called */
};
extern struct libc libc;

/* Finds the functions of `libc` that were not found before. It is called again when a thread
 * begins, because libpthread is loaded by then. */
void libc_find_missing(void);

/* The function of this name in the files after this library, as with RTLD_NEXT. */
void *libc_next(const char *name);

/* Like libc_next, but also searches files that were loaded later. */
void *libc_find(const char *name);

/* The function of this name that the program would call, as with RTLD_DEFAULT. */
void *libc_default(const char *name);

#endif
