/* A library that allocates when it is loaded, when it is called and when it is unloaded. -DNAME=...
 * names its functions, so that two of them differ in that alone. */
#include "known.h"

#define JOIN(a, b)  a##b
#define NAMED(a, b) JOIN(a, b)

void NAMED(NAME, _work)(size_t size);

__attribute__((constructor)) SITE static void NAMED(NAME, _begins)(void)
{
    known_sink = malloc(301);
}

__attribute__((destructor)) SITE static void NAMED(NAME, _ends)(void)
{
    known_sink = malloc(302);
}

SITE void NAMED(NAME, _work)(size_t size)
{
    known_sink = malloc(size);
}
