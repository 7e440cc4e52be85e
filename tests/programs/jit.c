/*
 * Code made at run time, without unwind information, that calls a function that allocates: with a
 * frame pointer, and without one but with the frame pointer's register used for something else.
 * jit HOW: framed, odd (the register holds an odd number), near (it points up the stack, but not at
 * a frame), far (it points at memory that is not there). Each 50 times, from two depths.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "known.h"

SITE static void allocates(void)
{
    known_sink = malloc(321);
}

typedef void (*made)(void (*function)(void), uintptr_t value);

static const unsigned char framed[] = {0x55,             /* push %rbp */
                                       0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
                                       0xff, 0xd7,       /* call *%rdi */
                                       0x5d,             /* pop %rbp */
                                       0xc3};            /* ret */
static const unsigned char bare[] = {0x55,               /* push %rbp */
                                     0x48, 0x89, 0xf5,   /* mov %rsi, %rbp */
                                     0xff, 0xd7,         /* call *%rdi */
                                     0x5d,               /* pop %rbp */
                                     0xc3};              /* ret */

SITE static void calls(made code, uintptr_t value)
{
    code(allocates, value);
    known_sink = NULL;
}

SITE static void calls_deeper(made code, uintptr_t value)
{
    calls(code, value);
    known_sink = NULL;
}

int main(int argc, char **argv)
{
    uintptr_t here[4] = {1, 2, 3, 4};
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (argc != 2 || page == MAP_FAILED)
        return 2;
    char how = argv[1][0];
    memcpy(page, how == 'f' && argv[1][1] == 'r' ? framed : bare, sizeof(bare));
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
        return 3;
    made code;
    memcpy(&code, &page, sizeof(code));
    uintptr_t value = how == 'o'   ? 12345
                      : how == 'n' ? (uintptr_t)here
                                   : (uintptr_t)here + (900 << 10);
    value &= how == 'o' ? ~(uintptr_t)0 : ~(uintptr_t)7;
    for (int i = 0; i < 50; i++) {
        calls(code, value);
        calls_deeper(code, value);
    }
    return 0;
}
