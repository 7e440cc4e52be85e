/*
 * A library whose constructor registers many exit handlers: libc keeps them in blocks of its own,
 * which it frees after the last destructor has run.
 */
#include <stdlib.h>

static void handler(void)
{
}

__attribute__((constructor)) static void register_all(void)
{
    for (int i = 0; i < 200; i++)
        atexit(handler);
}
