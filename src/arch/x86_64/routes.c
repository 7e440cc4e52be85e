/*
 * The exported functions of wire/routes.h, one jump each; and the fast path of run --sample for
 * allocations that are not recorded (record/routes.h). No register that a caller or callee may rely
 * on is changed, nothing is put on the stack, and the next function returns to the caller directly.
 */
#include "record/routes_by_number.h"

#ifdef __CET__
#define LANDING "endbr64\n"
#else
#define LANDING
#endif

#define FUNCTION(name, body)                                                                       \
    __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", @function\n" name                 \
            ":\n.cfi_startproc\n" LANDING body ".cfi_endproc\n.size " name ", . - " name "\n")

__asm__(".hidden route_page\n.hidden own_free\n.globl own_free\n.set own_free, free\n");

#define ROUTE(name, number) FUNCTION(name, "jmp *route_page+8*" number "(%rip)\n")
ROUTES_BY_NUMBER(ROUTE);

/*
 * Subtracts `size` from the bytes that are left. If none are left, the hook decides. The difference
 * is stored as computed here: a signal handler that allocates in between cannot make it negative.
 */
#define COUNT_DOWN(size, left)                                                                     \
    "mov tide_sample_left@gottpoff(%rip), %r11\n"                                                  \
    "mov %fs:(%r11), " left "\n"                                                                   \
    "sub " size ", " left "\n"                                                                     \
    "jbe 1f\n"                                                                                     \
    "mov " left ", %fs:(%r11)\n"

/* A free of a block that may have been recorded, judged by bits 10 to 31 of its address, goes to
 * the hook. */
#define PASS_UNLESS_RECORDED                                                                       \
    "mov tide_sample_filter(%rip), %r11\n"                                                         \
    "mov %edi, %eax\n"                                                                             \
    "shr $10, %eax\n"                                                                              \
    "cmpb $0, (%r11,%rax)\n"                                                                       \
    "jne 1f\n"

#define SAMPLED(name, body, next)                                                                  \
    FUNCTION("sampled_" name, body "jmp *next+" next "(%rip)\n1: jmp recorded_" name "\n")
SAMPLED("malloc", COUNT_DOWN("%rdi", "%rax"), "8");
SAMPLED("calloc", "mov %rdi, %rax\nmul %rsi\njo 1f\n" COUNT_DOWN("%rax", "%rdx"), "16");
SAMPLED("realloc", "test %rdi, %rdi\nje 2f\n" PASS_UNLESS_RECORDED "2:" COUNT_DOWN("%rsi", "%rax"),
        "24");
SAMPLED("free", PASS_UNLESS_RECORDED, "32");
