/*
 * untouched [THREADS | confined]: large blocks of which known pages are touched before they are
 * freed. libc's malloc: each block begins 16 bytes into its first page, which libc itself touches.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "known.h"

enum { PAGE = 4096, MIB = 1 << 20 };

/* Every `step`-th page that the block is on, from its first. */
static void touch(char *p, size_t size, size_t step)
{
    uintptr_t first = (uintptr_t)p / PAGE, end = ((uintptr_t)p + size + PAGE - 1) / PAGE;
    for (uintptr_t page = first; page < end; page += step) {
        volatile char *at = (char *)(page * PAGE);
        at = (char *)at < p ? p : at;
        *at = 1;
    }
}

SITE static void *every_fourth(void)
{
    char *p = malloc(64 * MIB);
    touch(p, 64 * MIB, 4);
    return p;
}

SITE static void *stays(void)
{
    char *p = malloc(32 * MIB);
    touch(p, 32 * MIB, 4);
    return p;
}

SITE static void *by_calloc(void)
{
    return calloc(16, MIB);
}

SITE static void *all_of_it(void)
{
    char *p = malloc(8 * MIB);
    touch(p, 8 * MIB, 1);
    return p;
}

SITE static void *too_small(void)
{
    return malloc(256 * 1024 - 1);
}

SITE static void *just_large(void)
{
    return malloc(256 * 1024);
}

SITE static void *grown(void)
{
    return realloc(malloc(1 * MIB), 2 * MIB);
}

SITE static void *used_before(void)
{
    return malloc(1 * MIB);
}

/* Memory that has been used and given back to libc, but not to the kernel, is there already. */
static void used_twice(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 * MIB);
    mallopt(M_TRIM_THRESHOLD, 64 * MIB);
    char *p = used_before();
    touch(p, 1 * MIB, 1);
    free(p);
    free(used_before());
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

static void *work(void *unused)
{
    void *(*const made[])(void) = {every_fourth, by_calloc,  all_of_it,
                                   too_small,    just_large, grown};
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++)
        free(made[i]());
    return unused;
}

/* From here on mincore and sysinfo end the program. */
static void confine(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sysinfo, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(9);
}

int main(int argc, char **argv)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a huge page is touched as a whole */
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    if (argc > 1 && strcmp(argv[1], "confined") == 0) {
        free(just_large());
        confine();
        free(every_fourth());
        return 0;
    }
    known_run(known_argument(argc, argv, 1, 1), work);
    used_twice();
    known_sink = stays();
    return 0;
}
