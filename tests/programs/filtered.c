/*
 * filtered errno|kill now|exec|child CALL...: installs a seccomp filter that forbids some system
 * calls, and goes on as `unfiltered` does: in this program or, by exec, in a new one. child: a
 * forked child installs it before anything else, and allocates.
 * filtered unfiltered: allocates in its first thread, in six threads that are alive together, and
 * in a forked child.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads_at_once.h"

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"memfd_create", SYS_memfd_create},
    {"socket", SYS_socket},
    {"connect", SYS_connect},
    {"sendmsg", SYS_sendmsg},
    {"recvmsg", SYS_recvmsg},
    {"nanosleep", SYS_nanosleep},
    {"sched_yield", SYS_sched_yield},
    {"gettid", SYS_gettid},
    {"getpid", SYS_getpid},
    {"tgkill", SYS_tgkill},
    {"prctl", SYS_prctl},
    {"openat", SYS_openat},
    {"getcwd", SYS_getcwd},
    {"readlink", SYS_readlink},
    {"prlimit64", SYS_prlimit64},
};

SITE static void before_filter(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(64);
}

SITE static void in_first_thread(void)
{
    for (int i = 0; i < 300000; i++) {
        void *p = malloc(48);

        known_sink = p;
        free(p);
    }
}

SITE static void in_child(void)
{
    for (int i = 0; i < 50; i++)
        known_sink = malloc(16);
}

static int install(unsigned action, char **names);

/* `names`: it installs a filter first. Returns 4, or 5: the child did not end well. */
static int fork_child(unsigned action, char **names)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (names && install(action, names))
            _exit(1);
        in_child();
        _exit(3);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
        return 5;
    return 4;
}

static int unfiltered(void)
{
    in_first_thread();
    run_at_once(6);
    return fork_child(0, NULL);
}

/* Shared memory is told from other mappings by its flags, the fourth argument; of madvise, only what
 * an allocator needs is allowed. */
static int install(unsigned action, char **names)
{
    struct sock_filter code[64];
    unsigned short n = 0;

    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *names; names++) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            if (strcmp(*names, calls[i].name) != 0)
                continue;
            code[n++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
        }
        if (!strcmp(*names, "shared_mmap")) {
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                     offsetof(struct seccomp_data, args[3]));
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
        if (!strcmp(*names, "other_advice")) {
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                     offsetof(struct seccomp_data, args[2]));
            code[n++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 1, 0);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    /* Both ways there are, so that both are tried. */
    return action == SECCOMP_RET_KILL_PROCESS
               ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return unfiltered();
    before_filter();
    unsigned action =
        !strcmp(argv[1], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    if (!strcmp(argv[2], "child"))
        return fork_child(action, argv + 3);
    if (install(action, argv + 3))
        return 1;
    if (!strcmp(argv[2], "now"))
        return unfiltered();
    if (strcmp(argv[2], "exec") != 0) { /* another program altogether */
        for (int i = 0; argv[i]; i++)
            if (!strcmp(argv[i], "--"))
                execvp(argv[i + 1], argv + i + 1);
    }
    execl(argv[0], argv[0], "unfiltered", (char *)NULL);
    return 2;
}
