/*
 * older_libc: definitions that the tool needs and that the headers of glibc 2.27 to 2.30 lack.
 */
#ifndef TIDE_BASE_OLDER_LIBC_H
#define TIDE_BASE_OLDER_LIBC_H

#include <sys/syscall.h>

/* The same numbers on every architecture. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

#endif
