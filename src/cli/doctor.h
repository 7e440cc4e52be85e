/*
 * doctor: the result of a check of `tidemark doctor`. A check tries the thing itself, as this user,
 * instead of guessing from settings. It has no arguments and no state, and the processes that it
 * starts have ended when it returns.
 */
#ifndef TIDE_CLI_DOCTOR_H
#define TIDE_CLI_DOCTOR_H

#include "base/strbuf.h"

enum doctor_state { DOCTOR_OK, DOCTOR_LIMITED, DOCTOR_MISSING };

struct finding {
    enum doctor_state state;
    struct strbuf found;   /* what was found */
    struct strbuf follows; /* what that means for recordings, and what to do about it */
};

/* Sets both sentences. */
void finding_set(struct finding *f, enum doctor_state state, const char *follows,
                 const char *found_format, ...) __attribute__((format(printf, 4, 5)));

/* doctor_limits.c: limits of a process, and available space */
void check_address_space(struct finding *f);
void check_descriptors(struct finding *f);
void check_locked_memory(struct finding *f);
void check_memory_cgroup(struct finding *f);
void check_disk_space(struct finding *f);

/* doctor_permissions.c: what the kernel lets this user do to his own processes */
void check_socket(struct finding *f);
void check_shared_memory(struct finding *f);
void check_perf_events(struct finding *f);
void check_ptrace(struct finding *f);
void check_pagemap(struct finding *f);
void check_pidfd(struct finding *f);

#endif
