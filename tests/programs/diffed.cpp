// Two versions of one program: -DAFTER is the second. What each function keeps is known.
#include <string>

#include "known.h"

#define APART __attribute__((noinline))

void *volatile kept[1000];
int kept_count;

#define keep(size) (kept[kept_count++] = malloc(size))

#ifndef MOVED // else it is in a library of its own
extern "C" SITE void moved()
{
    keep(64);
}
#else
extern "C" void moved();
#endif

#ifndef ONLY_MOVED
extern "C" {
SITE void steady()
{
    for (int i = 0; i < 10; i++)
        keep(50);
}
SITE void grows(int n)
{
    for (int i = 0; i < n; i++)
        keep(100);
}
SITE void shrinks(int n)
{
    for (int i = 0; i < n; i++)
        keep(40);
}
SITE void fresh()
{
    keep(7);
}
SITE void old()
{
    keep(9);
    keep(9);
}
SITE void temporary(int n)
{
    for (int i = 0; i < n; i++)
        free((void *)(known_sink = malloc(16)));
}
}

// A clone for the constant, where the compiler makes one.
static APART void cloned(int n, int size)
{
    for (int i = 0; i < n; i++)
        keep((size_t)size);
}

APART std::string tagged(int n)
{
    keep((size_t)n);
    return std::string();
}

template <typename F> APART void call(F f)
{
    f();
}

int main()
{
    steady();
    moved();
    cloned(3, 24);
#ifdef AFTER
    auto earlier = [] { keep(300); };
    call(earlier);
    grows(30);
    shrinks(5);
    fresh();
    temporary(8);
#else
    grows(10);
    shrinks(15);
    old();
    temporary(3);
#endif
    auto lambda = [] { keep(33); };
    call(lambda);
    tagged(20);
}
#endif
