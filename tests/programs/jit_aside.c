/*
 * Code made at run time, without unwind information, that runs on a stack of its own and uses the
 * frame pointer's register for something else: it points beyond the end of that stack, where
 * nothing can be read. It calls malloc 50 times. jit_aside WHERE: first, thread (which thread it
 * is), or filtered (the first, under a seccomp filter that allows everything).
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "known.h"

#define STACK  (64 << 10)
#define BEYOND 4096

typedef void *made(void *stack, void *value, void *(*function)(size_t));

static const unsigned char code[] = {0x55, 0x53,             /* push %rbp; push %rbx */
                                     0x48, 0x89, 0xe3,       /* mov %rsp, %rbx */
                                     0x48, 0x89, 0xfc,       /* mov %rdi, %rsp */
                                     0x48, 0x89, 0xf5,       /* mov %rsi, %rbp */
                                     0xbf, 0x41, 0x01, 0, 0, /* mov $321, %edi */
                                     0xff, 0xd2,             /* call *%rdx */
                                     0x48, 0x89, 0xdc,       /* mov %rbx, %rsp */
                                     0x5b, 0x5d, 0xc3};      /* pop %rbx; pop %rbp; ret */

static void *map(size_t size, int protection)
{
    void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(2);
    return p;
}

static void *work(void *unused)
{
    char *page = map(4096, PROT_READ | PROT_WRITE), *stack = map(2 * STACK, PROT_NONE);
    made *function;
    memcpy(page, code, sizeof code);
    memcpy(&function, &page, sizeof function);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) ||
        mprotect(stack, STACK, PROT_READ | PROT_WRITE))
        exit(3);
    for (int i = 0; i < 50; i++)
        known_sink = function(stack + STACK - 64, stack + STACK + BEYOND, malloc);
    return unused;
}

static void allow_everything(void)
{
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        exit(4);
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (argc != 2)
        return 1;
    if (argv[1][1] == 'i' && argv[1][2] == 'l')
        allow_everything();
    if (argv[1][0] == 'f')
        return work(NULL) != NULL;
    return pthread_create(&other, NULL, work, NULL) || pthread_join(other, NULL);
}
