#include "base/signal_name.h"

#include <stddef.h>

/* By number, as Linux has them on every supported machine: recordings are also read where there are
 * no signals. */
const char *signal_name(int signal)
{
    static const char *const names[] = {
        NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
        "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
        "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS",
    };
    return signal > 0 && (size_t)signal < sizeof names / sizeof *names ? names[signal] : NULL;
}
