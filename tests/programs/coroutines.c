/*
 * Many stacks in one thread, which allocate in turn. coroutines context|assembly: 16 coroutines,
 * number n recurses n deep in rise() and yields there, 10 times; each time it allocates n + 1
 * bytes. coroutines unmapped: one large stack is used and unmapped, then a small one at its lower
 * end; every 16th frame of a recursion allocates.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "known.h"

enum { COUNT = 16, ROUNDS = 10, STACK = 64 * 1024, LARGE = 32 * 1024 };

static int by_assembly, current;
static ucontext_t contexts[COUNT], main_context;
static void *saved[COUNT], *main_saved;

/* Keeps this stack's pointer in *from and goes on where `to` was kept. */
void switch_stacks(void **from, void *to);
__asm__(".globl switch_stacks\n"
        ".type switch_stacks, @function\n"
        "switch_stacks:\n"
        ".cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"
        "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
        "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r12, 0\n"
        "push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r13, 0\n"
        "push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r14, 0\n"
        "push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r15, 0\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore r15\n"
        "pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore r14\n"
        "pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore r13\n"
        "pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore r12\n"
        "pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbx\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size switch_stacks, . - switch_stacks\n");

static void yield(void)
{
    if (by_assembly)
        switch_stacks(&saved[current], main_saved);
    else
        swapcontext(&contexts[current], &main_context);
}

static void resume(int n)
{
    current = n;
    if (by_assembly)
        switch_stacks(&main_saved, saved[n]);
    else
        swapcontext(&main_context, &contexts[n]);
}

SITE static void leaf(int n)
{
    known_sink = malloc((size_t)n + 1);
}

SITE static void rise(int depth, int n)
{
    if (depth > 0) {
        rise(depth - 1, n);
        known_sink = NULL;
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        leaf(n);
        yield();
    }
}

SITE static void coroutine(void)
{
    rise(current, current);
    yield();
    abort();
}

SITE static void between(void)
{
    known_sink = malloc(1000);
}

/* By system call, so that nothing tells the recorder. */
static char *stack_at(void *at, size_t size)
{
    long stack = syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    if (stack == -1)
        abort();
    return (char *)stack;
}

static void prepare(int n, char *stack, size_t size, void (*entry)(void))
{
    if (by_assembly) {
        void **top = (void **)(stack + size) - 10; /* six registers, the entry, its return to 0 */
        *(void (**)(void)) & top[6] = entry;
        saved[n] = top;
        return;
    }
    getcontext(&contexts[n]);
    contexts[n].uc_stack.ss_sp = stack;
    contexts[n].uc_stack.ss_size = size;
    makecontext(&contexts[n], entry, 0);
}

static void all_in_turn(void)
{
    for (int n = 0; n < COUNT; n++)
        prepare(n, stack_at(NULL, STACK), STACK, coroutine);
    for (int i = 0; i < ROUNDS; i++)
        for (int n = 0; n < COUNT; n++) {
            resume(n);
            between();
        }
}

static char *stack_low, *last_frame;
static size_t frame_size;

SITE static void down(int depth)
{
    char *here = __builtin_frame_address(0);

    frame_size = (size_t)(last_frame - here);
    last_frame = here;
    if (depth % 16 == 0)
        known_sink = malloc(1);
    if (here > stack_low + 8192)
        down(depth + 1);
    known_sink = NULL;
}

SITE static void coroutine_down(void)
{
    down(1);
    yield();
    abort();
}

/* The small stack ends where a frame of the large one began: its frames are where others were. */
static void one_after_another(void)
{
    stack_low = stack_at(NULL, LARGE);
    prepare(0, stack_low, LARGE, coroutine_down);
    resume(0);
    syscall(SYS_munmap, stack_low, LARGE);
    size_t small = LARGE - LARGE / 2 / frame_size * frame_size;
    prepare(1, stack_at(stack_low, small), small, coroutine_down);
    resume(1);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    by_assembly = argv[1][0] == 'a';
    if (argv[1][0] == 'u')
        one_after_another();
    else
        all_in_turn();
    return 0;
}
