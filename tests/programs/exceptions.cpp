/* Exceptions, bad_alloc among them, unwind through recorded frames; counting goes on exactly
 * afterwards. */
#include <cstdint>
#include <new>
#include <stdexcept>

#include "known.h"

static volatile std::size_t too_much = PTRDIFF_MAX;

SITE static void before_throw()
{
    known_sink = malloc(40);
}

SITE static void throws(int depth)
{
    before_throw();
    if (depth == 0)
        throw 17;
    throws(depth - 1);
    known_sink = nullptr;
}

SITE static void after_catch()
{
    known_sink = malloc(60);
}

SITE static bool new_fails()
{
    try {
        known_sink = ::operator new(too_much);
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

SITE static bool new_array_fails()
{
    try {
        known_sink = ::operator new[](too_much, std::align_val_t{64});
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

SITE static bool nothrow_fails()
{
    return ::operator new(too_much, std::nothrow) == nullptr;
}

SITE static void after_bad_alloc()
{
    known_sink = ::operator new(80);
}

int main()
{
    for (int i = 0; i < 100; i++) {
        try {
            throws(9);
        } catch (int) {
            after_catch();
        }
        if (!new_fails() || !new_array_fails() || !nothrow_fails())
            return 1;
        after_bad_alloc();
    }
    return 0;
}
