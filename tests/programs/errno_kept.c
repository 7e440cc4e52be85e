/*
 * Prints errno after each call that succeeds, having set it to 4242 before. Its output has to be
 * the same under tidemark as without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "known.h"

#define SHOW(call)                                                                                 \
    do {                                                                                           \
        errno = 4242;                                                                              \
        call;                                                                                      \
        int after = errno;                                                                         \
        printf("%d %s\n", after, #call);                                                           \
    } while (0)

static int errno_in_thread;

static void *idle(void *unused)
{
    errno_in_thread = errno;
    return unused;
}

int main(void)
{
    void *p, *q = NULL;
    pthread_t thread;
    volatile size_t too_much = (size_t)-1 / 2;

    printf("%d at the start of main\n", errno);
    /* Often enough that a ring is filled and time passes: the slow paths must keep errno too. */
    for (int i = 0; i < 200000; i++) {
        errno = 4242;
        p = malloc(100 + (size_t)(i % 7));
        known_sink = p;
        free(p);
        if (errno != 4242) {
            printf("%d after %d rounds of malloc and free\n", errno, i);
            break;
        }
    }
    SHOW(p = malloc(1000));
    SHOW(p = realloc(p, 20000));
    SHOW(free(p));
    SHOW(free(NULL));
    SHOW(p = calloc(10, 10));
    SHOW(p = reallocarray(p, 20, 20));
    SHOW(free(p));
    SHOW(p = aligned_alloc(64, 640));
    SHOW(free(p));
    SHOW(p = memalign(64, 640));
    SHOW(free(p));
    SHOW(p = valloc(640));
    SHOW(free(p));
    SHOW(p = pvalloc(640));
    SHOW(free(p));
    SHOW(posix_memalign(&q, 64, 640));
    SHOW(free(q));
    SHOW(p = strdup("text"));
    SHOW(p = realloc(p, 0));
    SHOW(p = malloc(5000000));
    SHOW(free(p));
    SHOW(p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(p = mremap(p, 8192, 16384, MREMAP_MAYMOVE));
    SHOW(munmap(p, 16384));
    SHOW(p = dlopen("libm.so.6", RTLD_NOW));
    SHOW(dlclose(p));
    SHOW(pthread_create(&thread, NULL, idle, NULL));
    SHOW(pthread_join(thread, NULL));
    printf("%d at the start of a thread\n", errno_in_thread);
    SHOW(pthread_setname_np(pthread_self(), "renamed"));
    SHOW(prctl(PR_SET_NAME, "again", 0, 0, 0));
    /* Failing calls: libc's own value. */
    SHOW(known_sink = malloc(too_much));
    SHOW(known_sink = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(munmap((void *)1, 1));
    SHOW(prctl(-1, 0, 0, 0, 0));
    return 0;
}
