/* To be preloaded: an allocator that stops the process, as SIGSTOP from outside does, in the middle
 * of an allocation: once for each file that it finds under the name in $HALT. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static __attribute__((noinline)) void halt_if_asked(void)
{
    const char *name = getenv("HALT");
    if (name && unlink(name) == 0)
        kill(getpid(), SIGSTOP);
}

void *malloc(size_t size)
{
    halt_if_asked();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    halt_if_asked();
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    halt_if_asked();
    return __libc_realloc(p, size);
}

void free(void *p)
{
    __libc_free(p);
}
