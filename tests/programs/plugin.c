/* A library to be loaded and unloaded; -DNAME=... names its function, so that two of them differ in
 * that alone. */
#include <stdlib.h>

void *NAME(size_t size);

void *NAME(size_t size)
{
    void *volatile block = malloc(size);

    return block;
}
