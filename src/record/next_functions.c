#include "record/next_functions.h"

#include <limits.h>
#include <string.h>

#include "record/find_export.h"
#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/recorder.h"

struct next next;

/* A function pointer from dlsym without the cast that ISO C does not define. */
#define FIND(name) find_next(#name, &found.name, sizeof found.name)

static void find_next(const char *name, void *slot, size_t size)
{
    void *f = recorder.late ? libc_default(name) : libc_next(name);
    memcpy(slot, &f, size);
}

bool same_module(const void *slot, const void *other)
{
    void *f, *g;
    memcpy(&f, slot, sizeof f);
    memcpy(&g, other, sizeof g);
    const struct link_map *file = loaded_file_map(f);
    return file && loaded_file_map(g) == file;
}

/* Few allocators have it, and asking dlsym for a missing name makes it allocate. */
static void find_beside_free(const char *name, const void *free_slot, void *slot, size_t size)
{
    void *f;
    struct exports x;
    memcpy(&f, free_slot, sizeof f);
    const struct link_map *file = loaded_file_map(f);
    memset(slot, 0, size);
    if (!file)
        return;
    exports_read(&x, file);
    const ElfW(Sym) *symbol = exports_find(&x, name);
    uint64_t address = symbol ? x.base + symbol->st_value : 0;
    memcpy(slot, &address, size);
}

/* All at once, so that a hook that dlsym itself calls finds either everything or nothing. */
void next_find_all(void)
{
    struct next found;
    FIND(malloc);
    FIND(calloc);
    FIND(realloc);
    FIND(free);
    FIND(posix_memalign);
    FIND(aligned_alloc);
    FIND(memalign);
    FIND(valloc);
    FIND(pvalloc);
    FIND(malloc_usable_size);
    FIND(mmap);
    FIND(munmap);
    FIND(mremap);
    FIND(dlopen);
    FIND(dlclose);
    FIND(pthread_create);
    FIND(pthread_setname_np);
    FIND(sigaction);
    FIND(signal);
    FIND(sigprocmask);
    FIND(pthread_sigmask);
    FIND(sigwait);
    FIND(sigwaitinfo);
    FIND(sigtimedwait);
    FIND(signalfd);
    FIND(sigaltstack);
    FIND(prctl);
    FIND(mlockall);
    FIND(fork);
    FIND(_Fork);
    FIND(execv);
    FIND(execvp);
    FIND(execve);
    FIND(execvpe);
    FIND(fexecve);
    FIND(execveat);
    FIND(posix_spawn);
    FIND(posix_spawnp);
    FIND(__libc_start_main);
    FIND(exit);
    FIND(quick_exit);
    FIND(_exit);
    FIND(syscall);
    FIND(getenv);
    found.allocator = found.malloc_usable_size;
    /* A size may only be asked of the allocator that made the block: of the file that frees it. */
    if (!same_module(&found.malloc_usable_size, &found.free))
        found.malloc_usable_size = NULL;
    find_beside_free("free_sized", &found.free, &found.free_sized, sizeof found.free_sized);
    find_beside_free("free_aligned_sized", &found.free, &found.free_aligned_sized,
                     sizeof found.free_aligned_sized);
    found.pvalloc_is_foreign = !same_module(&found.pvalloc, &found.free);
    next = found;
}

/* If libc does not say: pthread_create notes it before it creates the second thread. */
bool recorder_is_alone(void)
{
    return libc.single_threaded ? *libc.single_threaded : !atomic_load(&recorder.several);
}

bool recorder_owns_allocations(const void *function)
{
    return same_module(&function, &next.malloc) || same_module(&function, &next.allocator);
}

/*
 * If the program's allocator has no pvalloc, libc's is used besides it, perhaps by several threads
 * at once. libc initialises itself without a lock, because it relies on a first call before there
 * are threads. This is that call.
 */
void next_make_libc_ready(void)
{
    int (*option)(int, int);
    find_next("mallopt", &option, sizeof option);
    if (next.pvalloc_is_foreign && option && same_module(&option, &next.pvalloc))
        option(INT_MAX, 0); /* there is no such option */
}
