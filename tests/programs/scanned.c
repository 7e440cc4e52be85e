/*
 * A program to be looked at while it runs, or however it ends: `scanned MODE`. Blocks are told
 * apart by their sizes; nothing but what the mode says points to them.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scan_blocks.h"
#include "tidemark.h"

static void *volatile global;
static __thread void *volatile local;
static int gate[2]; /* nothing is written to it until the end */
static volatile int ready, wrong;
static volatile sig_atomic_t signals;

SITE static void lose(size_t size)
{
    known_sink = block(size);
    known_sink = NULL;
}

static void check(int is_right)
{
    if (!is_right)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
}

/* --- threads that wait, each in its own way --------------------------------------------------- */

static void *on_stack(void *unused)
{
    void *volatile here = block(2000);
    char byte;
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    check(read(gate[0], &byte, 1) == 1);
    (void)here;
    return unused;
}

static void *in_storage(void *unused)
{
    static int word;
    struct timespec enough = {.tv_sec = 600};
    local = block(2001);
    clear_stack();
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&wrong, __ATOMIC_SEQ_CST)) {
        long r = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &enough, NULL, 0);
        check(r == 0 || errno != EINTR);
    }
    return unused;
}

/* Only a register has it: the system call is made here, and what was on the stack is cleared. */
static void *in_register(void *unused)
{
    struct timespec enough = {.tv_sec = 600};
    uintptr_t p = ~(uintptr_t)block(2002);
    long result;
    clear_stack();
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
#ifdef __aarch64__
    register long x8 __asm__("x8") = SYS_nanosleep, x1 __asm__("x1") = 0;
    register uintptr_t x0 __asm__("x0") = (uintptr_t)&enough;
    __asm__ volatile("mvn x19, %1\n\t"
                     "svc #0\n\t"
                     "mov x19, #0"
                     : "+r"(x0), "+r"(p)
                     : "r"(x8), "r"(x1)
                     : "x19", "memory");
    result = (long)x0;
#else
    __asm__ volatile("mov %1, %%r12\n\t"
                     "not %%r12\n\t"
                     "syscall\n\t"
                     "xor %%r12, %%r12"
                     : "=a"(result), "+r"(p)
                     : "0"((long)SYS_nanosleep), "D"(&enough), "S"(0L)
                     : "rcx", "r11", "r12", "memory");
#endif
    check(result == 0);
    return unused;
}

static void *in_poll(void *unused)
{
    struct pollfd p = {.fd = gate[0], .events = 0};
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    check(poll(&p, 1, 600000) == 0);
    return unused;
}

static void start(void *(*work)(void *), int count)
{
    pthread_t id;
    int wanted = ready + count;
    for (int i = 0; i < count; i++)
        if (pthread_create(&id, NULL, work, NULL))
            abort();
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) != wanted)
        usleep(1000);
}

/* A thread that works: it allocates, reallocates and frees, and knows all its blocks. */
static void *at_work(void *unused)
{
    static __thread void **list[64];
    ready++;
    for (unsigned i = 0;; i = i * 1103515245 + 12345) {
        void ***place = &list[i >> 16 & 63];
        size_t size = 64 + (i >> 8 & 255) * 16;
        if (*place && i & 0x1000) {
            *place = realloc(*place, size);
        } else if (*place) {
            free(**place);
            free(*place);
            *place = NULL;
        } else {
            *place = malloc(size);
            **place = malloc(24);
        }
    }
    return unused;
}

/* Many blocks, to which only memory points that was given back. */
static void *leave_stale(void *unused)
{
    void **holders[1000];
    for (int i = 0; i < 1000; i++) {
        holders[i] = block(64);
        for (int k = 0; k < 8; k++)
            holders[i][k] = k == 3 ? block(2060) : NULL;
    }
    for (int i = 0; i < 1000; i++) {
        free(holders[i]);
        holders[i] = NULL;
    }
    clear_stack();
    return unused;
}

/* --- how it is told to end -------------------------------------------------------------------- */

static void on_signal(int unused)
{
    (void)unused;
    signals++;
}

/* Says that it is ready, and waits for its standard input to end. */
static void await_end(void)
{
    char byte;
    if (write(1, "ready\n", 6) != 6)
        abort();
    ssize_t n;
    do
        n = read(0, &byte, 1);
    while (n > 0);
    check(n == 0);
}

static void end_in_handler(int unused)
{
    (void)unused;
    exit(0);
}

static void *end_in_thread(void *unused)
{
    void *volatile here = block(2011);
    (void)here;
    exit(0);
    return unused;
}

static void free_global(void)
{
    free(global);
    global = NULL;
    lose(2021); /* after the first look */
}

static void child_of_fork(void)
{
    void **inherited = block(2030);
    global = inherited;
    block(2031); /* lost by the parent: the child has nothing to do with it */
    clear_stack();
    fflush(NULL);
    if (fork() == 0) {
        *inherited = block(2032);
        lose(2033);
        clear_stack();
        exit(0);
    }
    wait(NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (pipe(gate))
        return 1;
    if (strcmp(mode, "waiting") == 0 || strcmp(mode, "signals") == 0) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(SIGRTMIN, &action, NULL);
        start(on_stack, atoi(argv[2]));
        if (strcmp(mode, "waiting") == 0) { /* a handler would end these */
            start(in_storage, 1);
            start(in_register, 1);
            start(in_poll, 1);
        }
        lose(2003);
        clear_stack();
        await_end();
        dprintf(2, "%d wrong, %d signals\n", wrong, (int)signals);
    } else if (strcmp(mode, "working") == 0) {
        start(at_work, 3);
        lose(2003);
        clear_stack();
        await_end();
        _exit(0);
    } else if (strcmp(mode, "running") == 0) { /* threads that still work when main returns */
        start(at_work, 3);
        lose(2003);
        clear_stack();
    } else if (strcmp(mode, "thread") == 0) {
        pthread_t id;
        lose(2010);
        clear_stack();
        pthread_create(&id, NULL, end_in_thread, NULL);
        for (;;)
            pause();
    } else if (strcmp(mode, "fork") == 0) {
        child_of_fork();
    } else if (strcmp(mode, "mapped") == 0) {
        void **page =
            mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void **shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        page[1000] = block(2040);
        shared[7] = block(2041);
        clear_stack();
    } else if (strcmp(mode, "paused") == 0) {
        tide_pause();
        void **unannounced = block(2070);
        tide_resume();
        *unannounced = block(2071);
        global = unannounced;
        clear_stack();
    } else if (strcmp(mode, "stale") == 0) {
        pthread_t id;
        leave_stale(NULL);
        pthread_create(&id, NULL, leave_stale, NULL);
        pthread_join(id, NULL);
    } else if (strcmp(mode, "untouched") == 0) {
        volatile char *large = malloc(1 << 20);
        long page = sysconf(_SC_PAGESIZE);
        global = (void *)large;
        large[5 * page] = large[6 * page] = 1;
    } else if (strcmp(mode, "undumpable") == 0) {
        lose(2050);
        prctl(PR_SET_DUMPABLE, 0);
    } else {
        global = block(2020);
        if (strcmp(mode, "quick_exit") == 0)
            at_quick_exit(free_global);
        else
            atexit(free_global);
        lose(2010);
        clear_stack();
        if (strcmp(mode, "filter") == 0) { /* one that permits everything */
            struct sock_filter permit = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
            struct sock_fprog program = {1, &permit};
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
        }
        if (strcmp(mode, "descriptors") == 0)
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){5, 5}); /* gate has the last two */
        if (strcmp(mode, "exit") == 0)
            exit(0);
        if (strcmp(mode, "quick_exit") == 0)
            quick_exit(0);
        if (strcmp(mode, "_exit") == 0)
            _exit(0);
        if (strcmp(mode, "abort") == 0)
            abort();
        if (strcmp(mode, "killed") == 0)
            kill(getpid(), SIGKILL);
        if (strcmp(mode, "exec") == 0)
            execl("/bin/true", "true", (char *)NULL);
        if (strcmp(mode, "system_call") == 0)
            syscall(SYS_exit_group, 0);
        if (strcmp(mode, "handler") == 0) {
            signal(SIGUSR1, end_in_handler);
            raise(SIGUSR1);
        }
        if (strcmp(mode, "vfork") == 0 && vfork() == 0)
            _exit(0);
    }
    return 0;
}
