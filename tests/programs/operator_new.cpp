/*
 * Every operator new and delete, each pair in a function of its own: ROUNDS blocks, of which KEPT
 * are never deleted. The sizes are no multiples of the alignment: what counts is what was asked
 * for. operator_new THREADS runs the whole in that many threads.
 */
#include <new>

#include "known.h"

enum { ROUNDS = 50, KEPT = 10 };
static const std::align_val_t wide{64};

SITE static void by_new(int i)
{
    void *block = ::operator new(101);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete(block);
}

SITE static void by_new_sized_delete(int i)
{
    void *block = ::operator new(203);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete (block, std::size_t{203});
}

SITE static void by_new_array(int i)
{
    void *block = ::operator new[](307);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete[](block);
}

SITE static void by_new_array_sized_delete(int i)
{
    void *block = ::operator new[](401);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete[](block, std::size_t{401});
}

SITE static void by_new_nothrow(int i)
{
    void *block = ::operator new(503, std::nothrow);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete(block, std::nothrow);
}

SITE static void by_new_array_nothrow(int i)
{
    void *block = ::operator new[](601, std::nothrow);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete[](block, std::nothrow);
}

SITE static void by_new_aligned(int i)
{
    void *block = ::operator new(701, wide);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete(block, wide);
}

SITE static void by_new_aligned_sized_delete(int i)
{
    void *block = ::operator new(809, wide);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete (block, std::size_t{809}, wide);
}

SITE static void by_new_array_aligned(int i)
{
    void *block = ::operator new[](907, wide);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete[](block, wide);
}

SITE static void by_new_array_aligned_sized_delete(int i)
{
    void *block = ::operator new[](1009, wide);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete[](block, std::size_t{1009}, wide);
}

SITE static void by_new_aligned_nothrow(int i)
{
    void *block = ::operator new(1103, wide, std::nothrow);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete(block, wide, std::nothrow);
}

SITE static void by_new_array_aligned_nothrow(int i)
{
    void *block = ::operator new[](1201, wide, std::nothrow);
    known_sink = block;
    if (i >= KEPT)
        ::operator delete[](block, wide, std::nothrow);
}

SITE static void by_delete_of_null()
{
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
}

SITE static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        by_new(i);
        by_new_sized_delete(i);
        by_new_array(i);
        by_new_array_sized_delete(i);
        by_new_nothrow(i);
        by_new_array_nothrow(i);
        by_new_aligned(i);
        by_new_aligned_sized_delete(i);
        by_new_array_aligned(i);
        by_new_array_aligned_sized_delete(i);
        by_new_aligned_nothrow(i);
        by_new_array_aligned_nothrow(i);
        by_delete_of_null();
    }
    return unused;
}

int main(int argc, char **argv)
{
    known_run(known_argument(argc, argv, 1, 1), work);
    return 0;
}
