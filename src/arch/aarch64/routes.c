/*
 * The exported functions of wire/routes.h, one jump each; and the fast path of run --sample for
 * allocations that are not recorded (record/routes.h). No register that a caller or callee may rely
 * on is changed, nothing is put on the stack, and the next function returns to the caller directly.
 */
#include "record/routes_by_number.h"

#define FUNCTION(name, body)                                                                       \
    __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name                 \
            ":\n.cfi_startproc\nhint #34\n" /* bti c */                                            \
            body ".cfi_endproc\n.size " name ", . - " name "\n")

__asm__(".hidden route_page\n.hidden own_free\n.globl own_free\n.set own_free, free\n");

#define JUMP(to) "adrp x16, " to "\nldr x16, [x16, #:lo12:" to "]\nbr x16\n"

#define ROUTE(name, number) FUNCTION(name, JUMP("route_page+8*" number))
ROUTES_BY_NUMBER(ROUTE);

/*
 * Subtracts `size` from the bytes that are left. If none are left, the hook decides. The difference
 * is stored as computed here: a signal handler that allocates in between cannot make it negative.
 */
#define COUNT_DOWN(size)                                                                           \
    "adrp x16, :gottprel:tide_sample_left\n"                                                       \
    "ldr x16, [x16, #:gottprel_lo12:tide_sample_left]\n"                                           \
    "mrs x17, tpidr_el0\n"                                                                         \
    "ldr x9, [x17, x16]\n"                                                                         \
    "subs x9, x9, " size "\n"                                                                      \
    "b.ls 1f\n"                                                                                    \
    "str x9, [x17, x16]\n"

/* A free of a block that may have been recorded, judged by its address, goes to the hook. */
#define PASS_UNLESS_RECORDED                                                                       \
    "adrp x16, tide_sample_filter\n"                                                               \
    "ldr x16, [x16, #:lo12:tide_sample_filter]\n"                                                  \
    "ubfx x17, x0, #10, #22\n"                                                                     \
    "ldrb w17, [x16, x17]\n"                                                                       \
    "cbnz w17, 1f\n"

#define SAMPLED(name, body, next)                                                                  \
    FUNCTION("sampled_" name, body JUMP("next+" next) "1: b recorded_" name "\n")
SAMPLED("malloc", COUNT_DOWN("x0"), "8");
SAMPLED("calloc", "umulh x10, x0, x1\ncbnz x10, 1f\nmul x10, x0, x1\n" COUNT_DOWN("x10"), "16");
SAMPLED("realloc", "cbz x0, 2f\n" PASS_UNLESS_RECORDED "2:" COUNT_DOWN("x1"), "24");
SAMPLED("free", PASS_UNLESS_RECORDED, "32");
