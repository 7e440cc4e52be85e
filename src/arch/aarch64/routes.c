/*
 * What is exported for the functions of wire/routes.h: a jump each; and run --sample's way through
 * those that are not recorded (record/routes.h). No register that a caller or callee may rely on is
 * changed, nothing is on the stack, and the function next in line returns to the caller.
 */
#include <assert.h>

#include "record/recorder.h"
#include "wire/routes.h"

static_assert(offsetof(struct wire_routes, now) == 0 && WIRE_ROUTES == 12, "below by number");
static_assert(WIRE_ROUTE_free == 3 && WIRE_ROUTE__ZdaPvm == 11, "below by number");
static_assert(offsetof(struct next, malloc) == 8 && offsetof(struct next, calloc) == 16 &&
                  offsetof(struct next, realloc) == 24 && offsetof(struct next, free) == 32,
              "below by number");
static_assert(SAMPLE_FILTER_SIZE == 0x100000, "below by number");

#define FUNCTION(name, body)                                                                       \
    __asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name                 \
            ":\n.cfi_startproc\nhint #34\n" /* bti c */                                            \
            body ".cfi_endproc\n.size " name ", . - " name "\n")

__asm__(".hidden route_page\n.hidden own_free\n.globl own_free\n.set own_free, free\n");

#define JUMP(to) "adrp x16, " to "\nldr x16, [x16, #:lo12:" to "]\nbr x16\n"

#define ROUTE(name, number) FUNCTION(name, JUMP("route_page+8*" number))
ROUTE("malloc", "0");
ROUTE("calloc", "1");
ROUTE("realloc", "2");
ROUTE("free", "3");
ROUTE("_Znwm", "4");
ROUTE("_Znam", "5");
ROUTE("_ZnwmRKSt9nothrow_t", "6");
ROUTE("_ZnamRKSt9nothrow_t", "7");
ROUTE("_ZdlPv", "8");
ROUTE("_ZdaPv", "9");
ROUTE("_ZdlPvm", "10");
ROUTE("_ZdaPvm", "11");

/*
 * Takes `size` from the bytes that are left. If there are none then, or the size is 0, the hook
 * decides. It is stored as it was computed here: a signal handler that allocates in between cannot
 * make it less than nothing.
 */
#define COUNT_DOWN(size)                                                                           \
    "adrp x16, :gottprel:tide_sample_left\n"                                                       \
    "ldr x16, [x16, #:gottprel_lo12:tide_sample_left]\n"                                           \
    "mrs x17, tpidr_el0\n"                                                                         \
    "ldr x9, [x17, x16]\n"                                                                         \
    "subs x9, x9, " size "\n"                                                                      \
    "b.ls 1f\n"                                                                                    \
    "cbz " size ", 1f\n"                                                                           \
    "str x9, [x17, x16]\n"

/* A block whose address may be of one that was recorded is the hook's. */
#define PASS_UNLESS_RECORDED                                                                       \
    "adrp x16, tide_sample_filter\n"                                                               \
    "ldr x16, [x16, #:lo12:tide_sample_filter]\n"                                                  \
    "ubfx x17, x0, #4, #20\n"                                                                      \
    "ldrb w17, [x16, x17]\n"                                                                       \
    "cbnz w17, 1f\n"

#define SAMPLED(name, body, next)                                                                  \
    FUNCTION("sampled_" name, body JUMP("next+" next) "1: b recorded_" name "\n")
SAMPLED("malloc", COUNT_DOWN("x0"), "8");
SAMPLED("calloc", "umulh x10, x0, x1\ncbnz x10, 1f\nmul x10, x0, x1\n" COUNT_DOWN("x10"), "16");
SAMPLED("realloc", PASS_UNLESS_RECORDED COUNT_DOWN("x1"), "24");
SAMPLED("free", PASS_UNLESS_RECORDED, "32");
