/*
 * attach_process: a process of its own that does what inject.h has, so that the collector goes on
 * meanwhile, and so that all threads are let go if anything happens.
 */
#ifndef TIDE_COLLECT_ATTACH_ATTACH_PROCESS_H
#define TIDE_COLLECT_ATTACH_ATTACH_PROCESS_H

#include "collect/attach/inject.h"

struct attach_process {
    pid_t pid;    /* of the one that works; 0: none */
    int answer;   /* a pipe */
    pid_t target; /* the program */
};

struct attach_answer {
    int code; /* 0, or a negative errno */
    bool found;
    struct err err;
    struct injection_result result;
};

int attach_process_begin(struct attach_process *p, pid_t target, const char *library,
                         const struct wire_attach *session, bool count_before, struct err *err);
int attach_process_restore(struct attach_process *p, pid_t target, struct err *err);
/* Has it answered? Waits for it if asked to. Once true, the process is gone. */
bool attach_process_answer(struct attach_process *p, bool wait, struct attach_answer *out);

#endif
