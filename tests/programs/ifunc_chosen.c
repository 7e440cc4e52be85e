/*
 * In three parts: a library whose function is chosen when it is first looked for, by asking for a
 * variable (IFUNC); one that calls it, so that the loader looks for it before it has come to what
 * is preloaded; and a program that calls that one. 0: as the environment was empty then, the first
 * was chosen.
 */
#include <stdlib.h>

#if PART == 1
int chosen(void);
static int first(void)
{
    return 0;
}

static int second(void)
{
    return 1;
}

__attribute__((used)) static int (*choose(void))(void)
{
    return getenv("PATH") ? second : first;
}

int chosen(void) __attribute__((ifunc("choose")));
#elif PART == 2
int chosen(void);
int calls_chosen(void);
int calls_chosen(void)
{
    return chosen();
}
#else
int calls_chosen(void);
int main(void)
{
    return getenv("PATH") ? calls_chosen() : 2;
}
#endif
