/* The code that is put into a program to load the library there (wire/attach_code.h). */
#include "wire/attach_code.h"

__asm__(
    ".text\n"
    ".globl attach_code\n"
    ".hidden attach_code\n"
    "attach_code:\n"
    "push %rbx\n"
    "mov %rdi, %rbx\n"
    "mov $186, %eax\n" /* gettid */
    "syscall\n"
    "mov %eax, " ATTACH_AT(TID) "(%rbx)\n"
                                "mov " ATTACH_AT(
                                    SELF) "(%rbx), %rax\n"
                                          "test %rax, %rax\n"
                                          "jz 1f\n"
                                          "call *%rax\n"
                                          "mov %rax, %rdi\n"
                                          "call *" ATTACH_AT(
                                              DETACH) "(%rbx)\n"
                                                      "1: mov " ATTACH_AT(
                                                          FUNCTION) "(%rbx), %rax\n"
                                                                    "test %rax, %rax\n"
                                                                    "jnz 2f\n"
                                                                    "lea " ATTACH_AT(
                                                                        PATH) "(%rbx), %rdi\n"
                                                                              "mov $2, %esi\n" /* RTLD_NOW */
                                                                              "call *" ATTACH_AT(DLOPEN) "(%rbx)\n"
                                                                                                         "test %rax, %rax\n"
                                                                                                         "jz 3f\n"
                                                                                                         "mov %rax, %rdi\n"
                                                                                                         "lea " ATTACH_AT(
                                                                                                             NAME) "(%rbx), %rsi\n"
                                                                                                                   "call *" ATTACH_AT(DLSYM) "(%rbx)\n"
                                                                                                                                             "test %rax, %rax\n"
                                                                                                                                             "jz 3f\n"
                                                                                                                                             "mov %rax, " ATTACH_AT(FUNCTION) "(%rbx)\n"
                                                                                                                                                                              "2: lea " ATTACH_AT(
                                                                                                                                                                                  SESSION) "(%rbx), %rdi\n"
                                                                                                                                                                                           "call *%rax\n"
                                                                                                                                                                                           "mov %eax, " ATTACH_AT(RESULT) "(%rbx)\n"
                                                                                                                                                                                                                          "movl $1, " ATTACH_AT(DONE) "(%rbx)\n"
                                                                                                                                                                                                                                                      "jmp 5f\n"
                                                                                                                                                                                                                                                      "3: mov " ATTACH_AT(DLERROR) "(%rbx), %rax\n"
                                                                                                                                                                                                                                                                                   "test %rax, %rax\n"
                                                                                                                                                                                                                                                                                   "jz 4f\n"
                                                                                                                                                                                                                                                                                   "call *%rax\n"
                                                                                                                                                                                                                                                                                   "test %rax, %rax\n"
                                                                                                                                                                                                                                                                                   "jz 4f\n"
                                                                                                                                                                                                                                                                                   "xor %ecx, %ecx\n"
                                                                                                                                                                                                                                                                                   "6: mov (%rax,%rcx), %dl\n"
                                                                                                                                                                                                                                                                                   "mov %dl, " ATTACH_AT(ERROR) "(%rbx,%rcx)\n"
                                                                                                                                                                                                                                                                                                                "inc %ecx\n"
                                                                                                                                                                                                                                                                                                                "test %dl, %dl\n"
                                                                                                                                                                                                                                                                                                                "jz 4f\n"
                                                                                                                                                                                                                                                                                                                "cmp $" ATTACH_AT(ERROR_SIZE) " - 1, %ecx\n"
                                                                                                                                                                                                                                                                                                                                              "jb 6b\n"
                                                                                                                                                                                                                                                                                                                                              "4: movl $2, " ATTACH_AT(DONE) "(%rbx)\n"
                                                                                                                                                                                                                                                                                                                                                                             "5: xor %eax, %eax\n"
                                                                                                                                                                                                                                                                                                                                                                             "pop %rbx\n"
                                                                                                                                                                                                                                                                                                                                                                             "ret\n"
                                                                                                                                                                                                                                                                                                                                                                             ".globl attach_code_end\n"
                                                                                                                                                                                                                                                                                                                                                                             ".hidden attach_code_end\n"
                                                                                                                                                                                                                                                                                                                                                                             "attach_code_end:\n");

static_assert(RETURN_OFFSET_WORDS == 576 && offsetof(struct return_words, none) == 16, "below");

/* rt_sigtimedwait leaves nothing behind when it is interrupted, as other ways to wait do. */
__asm__(".text\n"
        ".globl return_code\n"
        ".hidden return_code\n"
        "return_code:\n"
        "lea return_code+576(%rip), %rbx\n"
        "mov %rax, (%rbx)\n"
        "movl $1, 8(%rbx)\n"
        "mov $" RETURN_WAITS ", %ebp\n"
        "1: mov $128, %eax\n" /* rt_sigtimedwait */
        "lea 16(%rbx), %rdi\n"
        "xor %esi, %esi\n"
        "lea 24(%rbx), %rdx\n"
        "mov $8, %r10d\n"
        "syscall\n"
        "dec %ebp\n"
        "jnz 1b\n"
        "mov $15, %eax\n" /* rt_sigreturn */
        "syscall\n"
        ".globl return_code_end\n"
        ".hidden return_code_end\n"
        "return_code_end:\n");
