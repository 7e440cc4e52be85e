/*
 * forbids CALL PROGRAM ARGUMENTS...: runs a program to which one system call is forbidden (EPERM),
 * as the filters of containers do.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"perf_event_open", SYS_perf_event_open},
    {"memfd_create", SYS_memfd_create},
    {"socket", SYS_socket},
    {"ptrace", SYS_ptrace},
    {"pidfd_open", SYS_pidfd_open},
};

static void forbid(unsigned number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        exit(99);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof calls / sizeof *calls; i++) {
        if (!strcmp(argv[1], calls[i].name)) {
            forbid(calls[i].number);
            execvp(argv[2], argv + 2);
        }
    }
    return 98;
}
