/*
 * guarded_code: has no unwind tables, and forbids itself to read a page of its own code. Addresses
 * in that page are on its stack when it allocates 10 blocks of 30 bytes. The functions that are on
 * the stack then are called through pointers; one ends where that page begins.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "known.h"

enum { PAGE = 65536, WORDS = 32 }; /* a page, or several */

/* Calls a function, and ends where the guarded page begins. */
#ifdef __x86_64__
void beside(void (*function)(void));
#define BESIDE                                                                                     \
    ".balign 65536\n.skip 65536 - 8\n.globl beside\n.type beside, @function\nbeside:\n"            \
    "push %rbp\nmov %rsp, %rbp\ncall *%rdi\npop %rbp\nret\n"
#else
#define BESIDE ""
static void beside(void (*function)(void))
{
    function();
}
#endif

extern char guarded[];
__asm__(".text\n" BESIDE
        ".balign 65536\n.globl guarded\nguarded:\n.fill 65536, 1, 0x90\n.balign 65536\n");

static volatile uintptr_t word;

SITE static void allocates(void)
{
    volatile uintptr_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = word;
    known_sink = malloc(30);
    (void)words[0];
}

static void (*volatile inner)(void) = allocates;

SITE static void calls(void)
{
    inner();
    word = (uintptr_t)guarded + 104;
}

static void (*volatile outer)(void) = calls;

int main(void)
{
    word = (uintptr_t)guarded + 100;
    if (mprotect(guarded, PAGE, PROT_NONE))
        return 1;
    for (int i = 0; i < 10; i++)
        beside(outer);
    return 0;
}
