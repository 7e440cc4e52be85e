/* One name for several functions: templates, overloads, a method; and code of the standard library
 * that is inlined. Each has its bytes on a line of its own. */
#include <cstdlib>
#include <vector>

#include "known.h"

template <typename T> SITE void grab(int count)
{
    for (int i = 0; i < count; i++)
        known_sink = new T[100]; /* line template */
}

SITE static void grab(double size)
{
    known_sink = malloc((size_t)size); /* line overload */
}

struct Box {
    std::vector<long> items;

    SITE void fill(int count)
    {
        items.reserve((size_t)count); /* line reserve */
        for (int i = 0; i < count; i++)
            items.push_back(i); /* line push */
        items.push_back(count); /* line grow */
    }
};

int main()
{
    grab<char>(3);
    grab<long>(2);
    grab(77.0);
    Box *box = new Box;
    box->fill(1000);
    known_sink = box;
    return 0;
}
