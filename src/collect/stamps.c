#include "collect/stamps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAMPS_MAX 128

static bool read_proc(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, out, size - 1);
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/*
 * A process that execs a program we cannot be in goes on without a word to us. But its stack is
 * then elsewhere.
 */
static bool has_become_another(struct target *t, uint64_t stack_start)
{
    char path[64], name[4096];
    if (!t->stack_start)
        t->stack_start = stack_start;
    if (!t->became && stack_start != t->stack_start) {
        snprintf(path, sizeof path, "/proc/%d/exe", t->pid);
        ssize_t n = readlink(path, name, sizeof name);
        t->became = n > 0 ? xstrndup(name, (size_t)n) : xstrdup("another program");
    }
    return t->became;
}

static bool stamp_take(struct target *t, uint64_t now_ns, struct stamp *s)
{
    char text[1024];
    unsigned long long pages = 0, resident = 0, shared = 0, minor = 0, major = 0;
    unsigned long long stack_start = 0;
    static const unsigned long long page = 4096;
    if (!read_proc(t->pid, "statm", text, sizeof text) ||
        sscanf(text, "%llu %llu %llu", &pages, &resident, &shared) != 3 || pages == 0)
        return false;
    if (read_proc(t->pid, "stat", text, sizeof text)) {
        const char *after = strrchr(text, ')'); /* the name may hold anything */
        if (after)
            sscanf(after + 1,
                   " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %*u %*u %*d %*d %*d %*d %*d "
                   "%*d %*u %*u %*d %*u %*u %*u %llu",
                   &minor, &major, &stack_start);
    }
    if (stack_start && has_become_another(t, stack_start))
        return false;
    *s = (struct stamp){.time_ns = now_ns,
                        .vm_bytes = pages * page,
                        .rss_bytes = resident * page,
                        .anon_bytes = (resident - shared) * page,
                        .minor_faults = minor,
                        .major_faults = major,
                        .live_bytes = t->ledger.live.bytes,
                        .live_blocks = t->ledger.live.blocks,
                        .allocations = t->ledger.allocations};
    return true;
}

/* Every second one goes. */
static void thin_out(struct target *t)
{
    size_t kept = (t->profile.stamps.count + 1) / 2;
    for (size_t i = 0; i < kept; i++)
        t->profile.stamps.items[i] = t->profile.stamps.items[i * 2];
    t->profile.stamps.count = kept;
    t->stamp_length_ns *= 2;
}

void stamp_if_due(struct target *t, uint64_t now_ns)
{
    struct stamp s;
    if (now_ns < t->next_stamp_ns || !stamp_take(t, now_ns, &s))
        return;
    if (t->profile.stamps.count == STAMPS_MAX)
        thin_out(t);
    *vec_push(&t->profile.stamps) = s;
    t->next_stamp_ns = now_ns + t->stamp_length_ns;
}
