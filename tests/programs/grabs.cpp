/* A library of C++: grab() and drop() are operator new and delete. */
#include <cstddef>

extern "C" void *grab(std::size_t size)
{
    return ::operator new(size);
}
extern "C" void drop(void *block)
{
    ::operator delete(block);
}
