/* A library for Python programs: from begin() on, each free of CPython's object allocator begins
 * with a mark, so that what the recorder looks at now and then is looked at there. */
#include "python_memory.h"
#include "tidemark.h"

void PyMem_GetAllocator(int domain, struct allocator *allocator);
void PyMem_SetAllocator(int domain, struct allocator *allocator);

static struct allocator inner;

static void marking_free(void *context, void *block)
{
    tide_mark("free");
    inner.free(context, block);
}

void begin(void)
{
    struct allocator outer;
    PyMem_GetAllocator(OBJECTS, &inner);
    outer = inner;
    outer.free = marking_free;
    PyMem_SetAllocator(OBJECTS, &outer);
}
