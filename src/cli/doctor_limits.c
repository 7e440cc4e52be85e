/*
 * The checks of `tidemark doctor` that are about limits: address space, descriptors, locked memory,
 * cgroups, disk space. cmd_doctor.c has the list of checks.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/doctor.h"
#include "base/units.h"
#include "collect/proc/memory_room.h"

#define MIB UINT64_C(1048576)

/* Below this the recorder asks for a smaller stack tree (src/record/connection.c). */
#define ADDRESS_SPACE_SMALL (4096 * MIB)
/* The collector keeps two descriptors for each process and a few for itself. */
#define DESCRIPTORS_FEW  256
#define LOCKED_FEW       (8 * MIB)
#define CGROUP_SMALL     (512 * MIB)
#define DISK_SPACE_SMALL (256 * MIB)

/* A limit in words; the text lives as long as the buffer. */
static const char *bytes_text(struct strbuf *b, uint64_t bytes)
{
    strbuf_clear(b);
    if (bytes >= RLIM_INFINITY)
        strbuf_puts(b, "unlimited");
    else
        unit_bytes(b, (int64_t)bytes);
    return b->data;
}

void check_address_space(struct finding *f)
{
    struct rlimit limit;
    struct strbuf text = {0};
    getrlimit(RLIMIT_AS, &limit);
    bool small = limit.rlim_cur < ADDRESS_SPACE_SMALL;
    finding_set(f, small ? DOCTOR_LIMITED : DOCTOR_OK,
                small ? "fewer different stacks can be recorded, and programs that need nearly all "
                        "of it may run out of memory: raise it with ulimit -v"
                      : "",
                "RLIMIT_AS is %s", bytes_text(&text, limit.rlim_cur));
    strbuf_release(&text);
}

void check_descriptors(struct finding *f)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    unsigned long long most = limit.rlim_cur;
    finding_set(f, most < DESCRIPTORS_FEW ? DOCTOR_LIMITED : DOCTOR_OK, "", "RLIMIT_NOFILE is %llu",
                most);
    if (most < DESCRIPTORS_FEW)
        strbuf_printf(&f->follows,
                      "about %llu processes can be recorded at a time, others run without being "
                      "recorded: raise it with ulimit -n",
                      most > 16 ? (most - 16) / 2 : 0);
}

void check_locked_memory(struct finding *f)
{
    struct rlimit limit;
    struct strbuf text = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    bool few = geteuid() != 0 && limit.rlim_cur < LOCKED_FEW;
    finding_set(f, few ? DOCTOR_LIMITED : DOCTOR_OK,
                few ? "buffers for CPU samples and page faults will be small and may lose some: "
                      "raise it with ulimit -l; heap recordings do not need it"
                    : "",
                "RLIMIT_MEMLOCK is %s%s", bytes_text(&text, limit.rlim_cur),
                geteuid() == 0 ? ", and does not bind root" : "");
    strbuf_release(&text);
}

void check_memory_cgroup(struct finding *f)
{
    uint64_t least = memory_cgroup_limit(getpid());
    struct strbuf text = {0};
    bool limited = least != UINT64_MAX;
    finding_set(f, least < CGROUP_SMALL ? DOCTOR_LIMITED : DOCTOR_OK,
                least < CGROUP_SMALL
                    ? "the program, the recorder's memory and the collector share this: a program "
                      "that needs nearly all of it may be killed when it is recorded"
                    : "",
                "%s%s",
                limited ? "the memory cgroup is limited to " : "no limit by a memory cgroup",
                limited ? bytes_text(&text, least) : "");
    strbuf_release(&text);
}

void check_disk_space(struct finding *f)
{
    struct statvfs here;
    struct strbuf text = {0};
    if (access(".", W_OK | X_OK) != 0 || statvfs(".", &here) != 0) {
        finding_set(f, DOCTOR_LIMITED, "recordings cannot go here: choose a place with run -o",
                    "the current folder cannot be written to");
        return;
    }
    uint64_t free_bytes = (uint64_t)here.f_bavail * here.f_frsize;
    bool small = free_bytes < DISK_SPACE_SMALL;
    finding_set(f, small ? DOCTOR_LIMITED : DOCTOR_OK,
                small ? "large recordings may not fit: choose another place with run -o" : "",
                "%s free in the current folder, where recordings go",
                bytes_text(&text, free_bytes));
    strbuf_release(&text);
}
