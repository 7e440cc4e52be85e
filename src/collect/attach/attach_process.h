/*
 * attach_process: runs inject.h in a helper process, while the collector continues to work. When
 * the helper ends, for whatever reason, the kernel releases all threads of the program.
 *
 * Threads: one caller at a time for each struct. Ownership: attach_process_answer reaps the helper
 * and closes the pipe.
 */
#ifndef TIDE_COLLECT_ATTACH_ATTACH_PROCESS_H
#define TIDE_COLLECT_ATTACH_ATTACH_PROCESS_H

#include "collect/attach/inject.h"

struct attach_process {
    pid_t pid;    /* the helper; 0: there is none */
    int answer;   /* the end of a pipe to read the answer from */
    pid_t target; /* the program that is attached to */
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
/* Returns whether the helper has answered; with `wait`, blocks until it has. After true, the helper
 * is reaped. */
bool attach_process_answer(struct attach_process *p, bool wait, struct attach_answer *out);

#endif
