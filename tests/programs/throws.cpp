/*
 * Exceptions through many frames, with allocations before, while and after they pass; ROUNDS times.
 * A destructor on the way allocates; so does a handler in the middle, which throws on.
 */
#include <new>
#include <stdexcept>

#include "known.h"

enum { ROUNDS = 100, DEPTH = 8 };

SITE static void takes(size_t size)
{
    known_sink = malloc(size);
}

struct guard {
    SITE ~guard()
    {
        takes(71);
    }
};

SITE static void climbs(int depth)
{
    guard on_the_way;
    if (depth == 0) {
        takes(72);
        throw depth;
    }
    if (depth == DEPTH / 2) {
        try {
            climbs(depth - 1);
        } catch (...) {
            takes(73);
            throw;
        }
    }
    climbs(depth - 1);
}

SITE static void catches()
{
    try {
        climbs(DEPTH);
    } catch (int) {
        takes(74);
    }
}

/* The new_handler frees a reserve once, then throws what no allocator expects. */
static void *reserve;
struct enough {
};

SITE static void on_failure()
{
    if (!reserve)
        throw enough();
    free(reserve);
    reserve = nullptr;
}

SITE static void new_fails()
{
    volatile size_t impossible = static_cast<size_t>(-1) / 4;
    reserve = malloc(75);
    std::set_new_handler(on_failure);
    try {
        known_sink = ::operator new(impossible);
    } catch (const enough &) {
        takes(76);
    }
    std::set_new_handler(nullptr);
}

int main(int argc, char **)
{
    for (int i = 0; i < ROUNDS; i++) {
        catches();
        if (argc > 1)
            new_fails();
    }
    return 0;
}
