/*
 * mlockall: locks the program's memory, and makes it resident, without the addresses that we have
 * set aside. The kernel would make all of these resident, 200 MiB and more, and count them against
 * the program's limit.
 *
 * All is locked as it is touched (MCL_ONFAULT), and then each of the program's own mappings is made
 * resident. If the limit does not allow the former, the program's mappings are locked one by one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define LINE_MOST 128 /* what is behind it is the end of a long name */

struct maps {
    long fd;
    size_t at, count;
    char text[1024];
};

static int next_character(struct maps *m)
{
    if (m->at == m->count) {
        long n = sys_call(SYS_read, m->fd, m->text, sizeof m->text);
        if (n <= 0)
            return -1;
        m->at = 0;
        m->count = (size_t)n;
    }
    return (unsigned char)m->text[m->at++];
}

/* false: that was the last one. */
static bool next_line(struct maps *m, char line[LINE_MOST])
{
    size_t size = 0;
    int c;
    while ((c = next_character(m)) > 0 && c != '\n')
        if (size + 1 < LINE_MOST)
            line[size++] = (char)c;
    line[size] = 0;
    return c == '\n';
}

static uintptr_t hexadecimal(const char **text)
{
    uintptr_t value = 0;
    for (;; ++*text) {
        unsigned digit = (unsigned)**text - '0', letter = (unsigned)**text - 'a';
        if (digit > 9 && letter > 5)
            return value;
        value = value << 4 | (digit > 9 ? letter + 10 : digit);
    }
}

/* The bytes of the program's mappings. `flags`: locks each of them too, unless it is -1; some
 * cannot be, which is no error for mlockall either. */
static uint64_t program_mappings(int flags)
{
    struct maps m = {.fd = sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/maps",
                                    (long)(O_RDONLY | O_CLOEXEC))};
    uint64_t bytes = 0;
    char line[LINE_MOST];
    while (m.fd >= 0 && next_line(&m, line)) {
        const char *text = line;
        uintptr_t at = hexadecimal(&text), end = *text == '-' ? (text++, hexadecimal(&text)) : 0;
        if (strstr(line, "/memfd:tidemark"))
            continue;
        while (at < end) {
            uintptr_t ours = sys_mapped_to(at), stop = sys_mapped_from(at);
            stop = ours ? ours : stop < end ? stop : end;
            if (!ours) {
                bytes += stop - at;
                if (flags >= 0)
                    sys_call(SYS_mlock2, at, stop - at, (long)flags);
            }
            at = stop;
        }
    }
    if (m.fd >= 0)
        sys_call(SYS_close, m.fd);
    return bytes;
}

static bool program_fits(void)
{
    struct rlimit limit;
    return sys_call(SYS_prlimit64, 0L, (long)RLIMIT_MEMLOCK, 0L, &limit) == 0 &&
           program_mappings(-1) <= limit.rlim_cur;
}

static long lock_all(int flags)
{
    bool on_fault = flags & MCL_ONFAULT;
    long result = sys_call(SYS_mlockall, (long)(flags | MCL_ONFAULT));
    bool one_by_one = result == -ENOMEM && flags & MCL_CURRENT && program_fits();
    if (one_by_one)
        result = 0;
    if (result == 0 && flags & MCL_FUTURE && (one_by_one || !on_fault))
        result = sys_call(SYS_mlockall, (long)(flags & ~MCL_CURRENT));
    if (result == 0 && flags & MCL_CURRENT && (one_by_one || !on_fault))
        program_mappings(on_fault ? MLOCK_ONFAULT : 0);
    return result;
}

EXPORT int mlockall(int flags)
{
    if (UNLIKELY(!next.mlockall))
        recorder_start();
    if (atomic_load(&recorder.confined) || !recorder.header)
        return next.mlockall(flags);
    long result = lock_all(flags);
    if (result == -EINVAL) /* or an old kernel */
        return next.mlockall(flags);
    if (result == 0)
        atomic_store(&recorder.memory_locked, flags & MCL_FUTURE);
    if (result < 0)
        errno = (int)-result;
    return result < 0 ? -1 : 0;
}
OWN(mlockall);
