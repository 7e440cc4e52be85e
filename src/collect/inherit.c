#include "collect/inherit.h"

#include <stddef.h>

static const int limits[INHERIT_LIMITS] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA,
                                           RLIMIT_STACK};
static const int ignored[INHERIT_SIGNALS] = {SIGPIPE, SIGXFSZ};

void inherit_save(struct inherit *in)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int i = 0; i < INHERIT_LIMITS; i++) {
        getrlimit(limits[i], &in->limits[i]);
        struct rlimit most = {in->limits[i].rlim_max, in->limits[i].rlim_max};
        setrlimit(limits[i], &most);
    }
    for (int i = 0; i < INHERIT_SIGNALS; i++)
        sigaction(ignored[i], &ignore, &in->signals[i]);
    sigprocmask(SIG_SETMASK, NULL, &in->mask);
}

void inherit_restore(const struct inherit *in)
{
    for (int i = 0; i < INHERIT_LIMITS; i++)
        setrlimit(limits[i], &in->limits[i]);
    for (int i = 0; i < INHERIT_SIGNALS; i++)
        sigaction(ignored[i], &in->signals[i], NULL);
    sigprocmask(SIG_SETMASK, &in->mask, NULL);
}
