/*
 * compare_copies: the process that `compare` records: starts a program several times at once and
 * waits.
 *
 * It is tidemark itself, with a hidden command: COPIES_COMMAND COUNT FD PROGRAM ARGUMENTS. All
 * copies wait for each other before they execute the program. Their stdin and stdout are /dev/null;
 * TIDEMARK_COPY is 1, 2, ... in their environment. How each of them ended is written to FD, as one
 * struct copy_end each, in order of their number.
 */
#ifndef TIDE_CLI_COMPARE_COPIES_H
#define TIDE_CLI_COMPARE_COPIES_H

#include <stdint.h>

#define COPIES_COMMAND "copies-of"
#define COPIES_MOST    1024

struct copy_end {
    int32_t pid;
    int32_t wait_status;
    int32_t error; /* an errno, if the program could not be executed */
    int32_t unused;
    /* What the kernel counted, including children that it waited for. */
    uint64_t user_ns, system_ns, minor_faults, major_faults;
};

int cmd_copies(int argc, char **argv);

#endif
