#include "collect/surroundings.h"

#include <stddef.h>

static const int limits[SURROUNDINGS_LIMITS] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA,
                                                RLIMIT_STACK};
static const int ignored[SURROUNDINGS_SIGNALS] = {SIGPIPE, SIGXFSZ};

void surroundings_save(struct surroundings *in)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int i = 0; i < SURROUNDINGS_LIMITS; i++) {
        getrlimit(limits[i], &in->limits[i]);
        struct rlimit most = {in->limits[i].rlim_max, in->limits[i].rlim_max};
        setrlimit(limits[i], &most);
    }
    for (int i = 0; i < SURROUNDINGS_SIGNALS; i++)
        sigaction(ignored[i], &ignore, &in->signals[i]);
    sigprocmask(SIG_SETMASK, NULL, &in->mask);
}

void surroundings_restore(const struct surroundings *in)
{
    for (int i = 0; i < SURROUNDINGS_LIMITS; i++)
        setrlimit(limits[i], &in->limits[i]);
    for (int i = 0; i < SURROUNDINGS_SIGNALS; i++)
        sigaction(ignored[i], &in->signals[i], NULL);
    sigprocmask(SIG_SETMASK, &in->mask, NULL);
}
