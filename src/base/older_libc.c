/* Functions that a static library of a newer glibc calls and glibc 2.27 does not have, for the
 * portable build. */
#ifdef TIDEMARK_PORTABLE

#include <fcntl.h>
#include <stdarg.h>

/* From glibc 2.28 on; with 64-bit offsets it equals fcntl. SQLite calls it. */
int fcntl64(int fd, int command, ...);

int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return fcntl(fd, command, argument);
}

#endif
