#include "collect/session/inherited_limits.h"

#include <stddef.h>

static const int limits[INHERITED_RLIMITS] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS,
                                              RLIMIT_DATA,   RLIMIT_STACK, RLIMIT_CPU};
/* A broken pipe or a full file must be an error for the collector, not its end. A process that
 * ignores SIGCHLD has no zombies, and never learns how the program ended. */
static const struct {
    int signal;
    void (*handler)(int);
} ours[INHERITED_SIGNALS] = {{SIGPIPE, SIG_IGN}, {SIGXFSZ, SIG_IGN}, {SIGCHLD, SIG_DFL}};

void inherited_limits_save(struct inherited_limits *in)
{
    for (int i = 0; i < INHERITED_RLIMITS; i++) {
        getrlimit(limits[i], &in->limits[i]);
        struct rlimit most = {in->limits[i].rlim_max, in->limits[i].rlim_max};
        setrlimit(limits[i], &most);
    }
    for (int i = 0; i < INHERITED_SIGNALS; i++) {
        const struct sigaction action = {.sa_handler = ours[i].handler};
        sigaction(ours[i].signal, &action, &in->signals[i]);
    }
    sigprocmask(SIG_SETMASK, NULL, &in->mask);
}

void inherited_limits_restore(const struct inherited_limits *in)
{
    for (int i = 0; i < INHERITED_RLIMITS; i++)
        setrlimit(limits[i], &in->limits[i]);
    for (int i = 0; i < INHERITED_SIGNALS; i++)
        sigaction(ours[i].signal, &in->signals[i], NULL);
    sigprocmask(SIG_SETMASK, &in->mask, NULL);
}
