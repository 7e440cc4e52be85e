/*
 * What is exported for the functions of wire/routes.h: one jump each; and run --sample's way through
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
#define COUNT_DOWN(size, left)                                                                     \
    "mov tide_sample_left@gottpoff(%rip), %r11\n"                                                  \
    "mov %fs:(%r11), " left "\n"                                                                   \
    "sub " size ", " left "\n"                                                                     \
    "jbe 1f\n"                                                                                     \
    "test " size ", " size "\n"                                                                    \
    "je 1f\n"                                                                                      \
    "mov " left ", %fs:(%r11)\n"

/* A block whose address may be of one that was recorded is the hook's. */
#define PASS_UNLESS_RECORDED                                                                       \
    "mov tide_sample_filter(%rip), %r11\n"                                                         \
    "mov %rdi, %rax\n"                                                                             \
    "shr $4, %rax\n"                                                                               \
    "and $0xfffff, %eax\n"                                                                         \
    "cmpb $0, (%r11,%rax)\n"                                                                       \
    "jne 1f\n"

#define SAMPLED(name, body, next)                                                                  \
    FUNCTION("sampled_" name, body "jmp *next+" next "(%rip)\n1: jmp recorded_" name "\n")
SAMPLED("malloc", COUNT_DOWN("%rdi", "%rax"), "8");
SAMPLED("calloc", "mov %rdi, %rax\nmul %rsi\njo 1f\n" COUNT_DOWN("%rax", "%rdx"), "16");
SAMPLED("realloc", PASS_UNLESS_RECORDED COUNT_DOWN("%rsi", "%rax"), "24");
SAMPLED("free", PASS_UNLESS_RECORDED, "32");
