// A container that takes its memory from an allocator of its own, which tells of its blocks.
#include <cstdlib>
#include <list>
#include <new>

#include "tidemark.h"

template <class T> struct Pooled {
    using value_type = T;
    Pooled() = default;
    template <class U> Pooled(const Pooled<U> &)
    {
    }
    T *allocate(std::size_t n)
    {
        T *p = static_cast<T *>(std::malloc(n * sizeof(T)));
        tide_alloc("nodes", p, n * sizeof(T));
        return p;
    }
    void deallocate(T *p, std::size_t)
    {
        tide_free("nodes", p);
        std::free(p);
    }
    template <class U> bool operator==(const Pooled<U> &) const
    {
        return true;
    }
    template <class U> bool operator!=(const Pooled<U> &) const
    {
        return false;
    }
};

__attribute__((noinline)) static void fill(std::list<long, Pooled<long>> &numbers)
{
    for (long i = 0; i < 1000; i++)
        numbers.push_back(i);
}

int main()
{
    std::list<long, Pooled<long>> numbers;
    fill(numbers);
    tide_mark("full");
    while (numbers.size() > 10)
        numbers.pop_front();
    tide_mark("drained");
    return 0;
}
