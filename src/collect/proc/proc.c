#include "collect/proc/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096

bool proc_parse_statm(const char *text, struct proc_memory *out)
{
    unsigned long long pages, resident, shared;
    if (sscanf(text, "%llu %llu %llu", &pages, &resident, &shared) != 3 || pages == 0)
        return false; /* none: the process is a zombie */
    *out = (struct proc_memory){.vm_bytes = pages * PAGE_BYTES,
                                .rss_bytes = resident * PAGE_BYTES,
                                .anon_bytes =
                                    resident > shared ? (resident - shared) * PAGE_BYTES : 0};
    return true;
}

bool proc_parse_stat(const char *text, struct proc_state *out)
{
    unsigned ppid;
    unsigned long long minor, major, user = 0, system = 0;
    const char *after = strrchr(text, ')'); /* the name may hold anything */
    if (!after || sscanf(after + 1, " %*c %u %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu",
                         &ppid, &minor, &major, &user, &system) < 3)
        return false;
    *out = (struct proc_state){.ppid = ppid,
                               .minor_faults = minor,
                               .major_faults = major,
                               .user_ticks = user,
                               .system_ticks = system};
    return true;
}

bool proc_read_text(pid_t pid, const char *name, char *out, size_t size)
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

bool proc_read_state(pid_t pid, struct proc_state *out)
{
    char text[1024];
    return proc_read_text(pid, "stat", text, sizeof text) && proc_parse_stat(text, out);
}
