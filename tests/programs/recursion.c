/* recursion DEPTH: allocates at the bottom of that many calls of deep(). */
#include "known.h"

SITE static void at_the_bottom(void)
{
    known_sink = malloc(777);
}

SITE static int deep(int left)
{
    if (!left) {
        at_the_bottom();
        return 1;
    }
    return deep(left - 1) + 1;
}

SITE static void after(void)
{
    known_sink = malloc(333);
}

int main(int argc, char **argv)
{
    int depth = known_argument(argc, argv, 1, 900);

    if (deep(depth - 1) != depth)
        return 1;
    after();
    return 0;
}
