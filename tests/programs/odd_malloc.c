/*
 * Allocators written by hand, whose functions begin in ways that compilers seldom choose. Each
 * hands out parts of one area; `free` does nothing. KIND says which. 7 calls are made
 * as usual; 3 by hand, as compilers do that see malloc in the same file: they know what it leaves
 * alone.
 */
#include <stddef.h>

#include "known.h"

char area[1 << 20] __attribute__((aligned(16)));
char *place = area;

#define BEGIN(name) ".globl " name "\n.type " name ", @function\n.p2align 4\n" name ":\n"
#define END(name)   ".size " name ", . - " name "\n.p2align 4\n"
#define TAKE        "mov $1024, %eax\nlock xadd %rax, place(%rip)\n"

#define RETURNS 1 /* free is one byte long, and padded */
#define LOOPS   2 /* malloc has a loop to its very beginning */
#define CRAMPED 3 /* free is one byte long, and malloc comes right behind */
#define JUMPS   4 /* malloc is elsewhere */
#define CALLS   5 /* malloc begins with a call */

/* clang-format off */
#if KIND == RETURNS
__asm__(".text\n" BEGIN("malloc") TAKE "ret\n" END("malloc") BEGIN("free") "ret\n" END("free"));
#elif KIND == LOOPS
__asm__(".text\n" BEGIN("malloc") "mov place(%rip), %rax\nlea 1024(%rax), %rdx\n"
        "lock cmpxchg %rdx, place(%rip)\njne malloc\nret\n" END("malloc")
        BEGIN("free") "ret\n" END("free"));
#elif KIND == CRAMPED
__asm__(".text\n" BEGIN("free") "ret\n.size free, . - free\n"
        ".globl malloc\n.type malloc, @function\nmalloc:\n" TAKE "ret\n" END("malloc"));
#elif KIND == JUMPS
__asm__(".text\n" BEGIN("taking") TAKE "ret\n" END("taking") BEGIN("malloc") "jmp taking\n" END("malloc")
        BEGIN("free") "test %rdi, %rdi\nje 1f\nnop\n1: ret\n" END("free"));
#elif KIND == CALLS
__asm__(".text\n" BEGIN("taking") TAKE "ret\n" END("taking")
        BEGIN("malloc") "call taking\nnop\nret\n" END("malloc")
        BEGIN("free") "push %rdi\ncmpq $0, place(%rip)\npop %rdi\nret\n" END("free"));
#endif

/* clang-format on */

SITE static void takes(void)
{
    for (int i = 0; i < 7; i++) {
        known_sink = malloc(1000);
        free(known_sink);
    }
}

/* Did a call of malloc change nothing but rax and rdx, though the stack is not as it should be at a
 * call? */
SITE static int left_alone(void)
{
    unsigned long changed;

    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "sub $256, %%rsp\n\t"
                     "and $-16, %%rsp\n\t"
                     "sub $8, %%rsp\n\t"
                     "mov $1001, %%edi\n\t"
                     "mov $1002, %%esi\n\t"
                     "mov $1004, %%ecx\n\t"
                     "mov $1005, %%r8d\n\t"
                     "mov $1006, %%r9d\n\t"
                     "mov $1007, %%r10d\n\t"
                     "mov $1008, %%r11d\n\t"
                     "movq %%rdi, %%xmm0\n\t"
                     "movq %%rcx, %%xmm15\n\t"
                     "call malloc\n\t"
                     "mov %%rbx, %%rsp\n\t"
                     "movq %%xmm0, %%rbx\n\t"
                     "xor %%rdi, %%rbx\n\t"
                     "movq %%xmm15, %%rax\n\t"
                     "xor %%rcx, %%rax\n\t"
                     "or %%rax, %%rbx\n\t"
                     "xor $1001, %%rdi\n\t"
                     "or %%rdi, %%rbx\n\t"
                     "xor $1002, %%rsi\n\t"
                     "or %%rsi, %%rbx\n\t"
                     "xor $1004, %%rcx\n\t"
                     "or %%rcx, %%rbx\n\t"
                     "xor $1005, %%r8\n\t"
                     "or %%r8, %%rbx\n\t"
                     "xor $1006, %%r9\n\t"
                     "or %%r9, %%rbx\n\t"
                     "xor $1007, %%r10\n\t"
                     "or %%r10, %%rbx\n\t"
                     "xor $1008, %%r11\n\t"
                     "or %%r11, %%rbx\n\t"
                     "mov %%rbx, %0"
                     : "=r"(changed)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "r10", "r11", "xmm0",
                       "xmm15", "memory", "cc");
    return changed == 0;
}

int main(void)
{
    takes();
    for (int i = 0; i < 3; i++) {
        if (!left_alone())
            return 8;
    }
    return place == area + 10 * 1024 ? 5 : 9;
}
