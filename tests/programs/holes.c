/*
 * Stacks whose every frame is known, for files with holes between their segments and for code
 * without unwind information. holes direct: main calls outer, middle and inner, which allocates 77
 * bytes, 100 times. holes library FILE: the same in a library with the functions of plugin_deep.c.
 * holes bare: through two functions of assembly that keep no frame pointer; holes framed: through
 * one that does.
 */
#include <dlfcn.h>

#include "known.h"

SITE static void inner(void)
{
    known_sink = malloc(77);
}

SITE static void middle(void)
{
    inner();
    known_sink = NULL;
}

SITE static void outer(void)
{
    middle();
    known_sink = NULL;
}

void bare_outer(void (*function)(void));
void framed(void (*function)(void));
__asm__(".text\n"
        ".type bare_outer, @function\n"
        "bare_outer: subq $24, %rsp\n call bare_inner\n addq $24, %rsp\n ret\n"
        ".size bare_outer, . - bare_outer\n"
        ".type bare_inner, @function\n"
        "bare_inner: subq $40, %rsp\n call *%rdi\n addq $40, %rsp\n ret\n"
        ".size bare_inner, . - bare_inner\n"
        ".type framed, @function\n"
        "framed: pushq %rbp\n movq %rsp, %rbp\n subq $32, %rsp\n movq $0, 24(%rsp)\n"
        " movq $0, 16(%rsp)\n movq $0, 8(%rsp)\n movq $0, (%rsp)\n"
        " call *%rdi\n leave\n ret\n"
        ".size framed, . - framed\n");

/* Its frame pointer points to its own frame, and so may be taken for that of what it calls. */
SITE static void has_frame(char how)
{
    volatile char *room = __builtin_alloca(64);
    room[0] = how;
    if (how == 'b')
        bare_outer(outer);
    else
        framed(outer);
    known_sink = NULL;
}

int main(int argc, char **argv)
{
    char how = argc > 1 ? argv[1][0] : 0;
    void *library = how == 'l' && argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
    void (*work)(void) = library ? (void (*)(void))dlsym(library, "deep_outer") : outer;

    if (!how || (how == 'l' && (!library || !work)))
        return 2;
    for (int i = 0; i < 100; i++) {
        if (how == 'b' || how == 'f')
            has_frame(how);
        else
            work();
    }
    return 0;
}
