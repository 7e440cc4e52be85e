/* A library and a program that uses it, for tests of what libraries are called: allocates, touches
 * and computes in the library (-DLIBRARY), and in libstdc++. */
#include <cstdlib>
#include <sstream>

extern "C" double linked_work(long rounds, char **kept);

#ifdef LIBRARY

/* Stripping takes its name. */
static __attribute__((noinline)) double work_inside(long rounds, char **kept)
{
    const size_t size = 64 << 12;
    char *block = (char *)malloc(size);
    double sum = 0;
    for (size_t i = 0; i < size; i += 4096)
        *(volatile char *)(block + i) = 1;
    for (volatile long i = 0; i < rounds; i = i + 1)
        sum += (double)i;
    *kept = block;
    return sum;
}

extern "C" double linked_work(long rounds, char **kept)
{
    return work_inside(rounds, kept) + 1;
}

#else

char *linked_kept;

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    double sum = linked_work(rounds * 1000, &linked_kept);
    std::ostringstream text;
    for (long i = 0; i < rounds; i++)
        text << sum << i;
    return text.str().empty();
}

#endif
