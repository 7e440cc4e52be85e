// Leaks of sizes that tell them apart, each by a way of its own: which of them a suppression means.
#include <cstdlib>
#include <cstring>
#include <new>

#define APART __attribute__((noinline, noclone))

static void *volatile dropped; // the last one only: the others are lost

static void drop(void *p)
{
    memset(p, 1, 1);
    dropped = p;
    dropped = nullptr;
}

extern "C" {
APART void plain()
{
    drop(malloc(1 << 4));
}
APART void inner()
{
    drop(malloc(1 << 5));
}
APART void middle()
{
    inner();
    inner();
}
APART void outer()
{
    middle();
    plain();
}
APART void zeroed()
{
    drop(calloc(4, 1 << 4));
}
APART void resized()
{
    drop(realloc(malloc(1), 1 << 7));
}
APART void aligned()
{
    void *p = nullptr;
    if (posix_memalign(&p, 64, 1 << 8) == 0)
        drop(p);
}
APART void copied()
{
    drop(strdup("0123456789"));
}
APART void again(int n)
{
    if (n > 1)
        again(n - 1);
    else
        drop(malloc(1 << 9));
}
}

namespace shop
{
struct Box {
    APART void fill(int n)
    {
        drop(new char[1 << 10]);
        (void)n;
    }
    APART Box()
    {
        drop(::operator new(1 << 11));
    }
};
template <typename T> APART void stock(T)
{
    drop(new char[1 << 12]);
}
namespace
{
APART void hidden()
{
    drop(malloc(1 << 13));
}
} // namespace
} // namespace shop

int main()
{
    plain();
    outer();
    zeroed();
    resized();
    aligned();
    copied();
    again(5);
    shop::Box box;
    box.fill(1);
    shop::stock(1.5);
    shop::hidden();
    for (int i = 0; i < 3; i++)
        drop(malloc(1 << 14));
    return 0;
}
