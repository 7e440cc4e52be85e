/*
 * Is every register, and the red zone's neighbourhood, as it was when a function is entered?
 * `looks` stores all that it finds. The stack is misaligned on purpose.
 */
#include <stdint.h>

#define GENERAL 15
uint64_t given[GENERAL], seen[GENERAL];
uint8_t given_vectors[16][32], seen_vectors[16][32];
void looks(void), enters(void);

__asm__(".data\n"
        "saved_stack: .quad 0\n"
        ".text\n"
        ".type looks, @function\n"
        "looks: push %rax\n"
        "push %rax\n"
        "lea seen(%rip), %rax\n"
        "mov %rbx, 8(%rax)\nmov %rcx, 16(%rax)\nmov %rdx, 24(%rax)\nmov %rsi, 32(%rax)\nmov %rdi, "
        "40(%rax)\n"
        "mov %rbp, 48(%rax)\nmov %r8, 56(%rax)\nmov %r9, 64(%rax)\nmov %r10, 72(%rax)\nmov %r11, "
        "80(%rax)\n"
        "mov %r12, 88(%rax)\nmov %r13, 96(%rax)\nmov %r14, 104(%rax)\nmov %r15, 112(%rax)\n"
        "lea seen_vectors(%rip), %rbx\n"
        ".set at, 0\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "vmovups %ymm\\n, at(%rbx)\n"
        ".set at, at + 32\n"
        ".endr\n"
        "pop %rbx\n"
        "mov %rbx, (%rax)\n"
        "pop %rbx\n"
        "ret\n"
        ".size looks, . - looks\n"
        ".globl enters\n"
        ".type enters, @function\n"
        "enters: push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, saved_stack(%rip)\n"
        "sub $3, %rsp\n"
        "lea given_vectors(%rip), %rax\n"
        ".set at, 0\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "vmovups at(%rax), %ymm\\n\n"
        ".set at, at + 32\n"
        ".endr\n"
        "lea given(%rip), %rax\n"
        "mov 8(%rax), %rbx\nmov 16(%rax), %rcx\nmov 24(%rax), %rdx\nmov 32(%rax), %rsi\nmov "
        "40(%rax), %rdi\n"
        "mov 48(%rax), %rbp\nmov 56(%rax), %r8\nmov 64(%rax), %r9\nmov 72(%rax), %r10\nmov "
        "80(%rax), %r11\n"
        "mov 88(%rax), %r12\nmov 96(%rax), %r13\nmov 104(%rax), %r14\nmov 112(%rax), %r15\n"
        "mov (%rax), %rax\n"
        "call looks\n"
        "mov saved_stack(%rip), %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"
        "vzeroupper\n"
        "ret\n"
        ".size enters, . - enters\n");

#include "entered_registers.h"
