/* One function for each size that is hard to print: ties, and just below the next unit. Nothing is
 * freed. */
#include <stdlib.h>

#define TAKE(size)                                                                                 \
    __attribute__((noinline)) void *take_##size(void)                                              \
    {                                                                                              \
        return malloc(size);                                                                       \
    }

TAKE(1023)
TAKE(1024)
TAKE(1280)
TAKE(1792)
TAKE(2304)
TAKE(3328)
TAKE(104858)
TAKE(1048524)
TAKE(1048525)
TAKE(1310720)
TAKE(1835008)

void *kept[11];

int main(void)
{
    void *(*const take[])(void) = {take_1023,    take_1024,    take_1280,   take_1792,
                                   take_2304,    take_3328,    take_104858, take_1048524,
                                   take_1048525, take_1310720, take_1835008};
    for (int i = 0; i < 11; i++)
        kept[i] = take[i]();
    return 0;
}
