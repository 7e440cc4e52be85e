/* Between two marks: maps 64 MiB and touches each page of it. */
#include <stddef.h>
#include <sys/mman.h>

#include "tidemark.h"

int main(void)
{
    const size_t size = 64 << 20;
    tide_mark("before");
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 1;
    madvise(p, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
    tide_mark("after");
    return 0;
}
