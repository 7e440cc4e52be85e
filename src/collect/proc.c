#include "collect/proc.h"

#include <stdio.h>
#include <string.h>

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

bool proc_read_state(pid_t pid, struct proc_state *out)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    bool read = f && fgets(text, sizeof text, f) && proc_parse_stat(text, out);
    if (f)
        fclose(f);
    return read;
}
