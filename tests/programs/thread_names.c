/* Threads named in the three ways there are; each leaks a size of its own. The last one has no
 * name. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "known.h"

static sem_t named;

SITE static void leak(size_t size)
{
    known_sink = malloc(size);
}

static void *names_itself(void *unused)
{
    leak(100); /* before it has a name: still its own */
    pthread_setname_np(pthread_self(), "by-itself");
    leak(1000);
    return unused;
}

static void *names_itself_by_prctl(void *unused)
{
    prctl(PR_SET_NAME, "by-prctl", 0, 0, 0);
    leak(2000);
    return unused;
}

static void *is_named(void *unused)
{
    sem_wait(&named);
    leak(3000);
    return unused;
}

static void *has_no_name(void *unused)
{
    leak(4000);
    return unused;
}

static void start_and_wait(void *(*work)(void *), const char *name)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, NULL))
        abort();
    if (name) {
        pthread_setname_np(thread, name);
        sem_post(&named);
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    sem_init(&named, 0, 0);
    start_and_wait(names_itself, NULL);
    start_and_wait(names_itself_by_prctl, NULL);
    start_and_wait(is_named, "by-another");
    start_and_wait(has_no_name, NULL);
    leak(5000);
    return 0;
}
