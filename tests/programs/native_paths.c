/*
 * A library for test_python_stacks.py: call(PATH) goes through the functions a, b and c as PATH says, and
 * allocates at its end; nothing is freed.
 */
#include <stdlib.h>

#define SIZE 112

static void next(const char *path);

#define STEP(name)                                                                                 \
    __attribute__((noinline)) static void name(const char *path)                                   \
    {                                                                                              \
        next(path);                                                                                \
        __asm__ volatile("");                                                                      \
    }
STEP(a)
STEP(b)
STEP(c)

void *volatile native_paths_last;

__attribute__((noinline)) static void next(const char *path)
{
    switch (*path) {
    case 'a':
        a(path + 1);
        break;
    case 'b':
        b(path + 1);
        break;
    case 'c':
        c(path + 1);
        break;
    default:
        native_paths_last = malloc(SIZE);
    }
    __asm__ volatile("");
}

void call(const char *path)
{
    next(path);
    __asm__ volatile("");
}
