/* A program with operator new and delete of its own, which call malloc and free. */
#include <new>

#include "known.h"

void *operator new(std::size_t size)
{
    void *block = malloc(size);
    if (!block)
        throw std::bad_alloc();
    return block;
}

void operator delete(void *block) noexcept
{
    free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
    free(block);
}

struct thing {
    char bytes[411];
};

SITE static void keeps()
{
    known_sink = new thing;
    known_sink = new char[412]; /* the runtime's form, which calls ours */
}

SITE static void drops()
{
    thing *volatile block = new thing;
    delete block;
}

int main()
{
    for (int i = 0; i < 50; i++) {
        keeps();
        drops();
    }
    return 0;
}
