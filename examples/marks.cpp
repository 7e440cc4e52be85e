/*
 * A job of ten events, each in a scope: marks "event" at its begin and "event.end" at its end, also
 * if it is left by an exception. Each keeps 1,000 bytes and uses 5,000 meanwhile.
 *
 *     c++ -I include examples/marks.cpp -o marks
 *     tidemark run -o marks.tide ./marks
 *     tidemark marks marks.tide
 *     tidemark report marks.tide --since event#5 --at event.end#5
 */
#include <memory>
#include <stdexcept>
#include <vector>

#include "tidemark.h"

static std::vector<std::unique_ptr<char[]>> results(10);

static void process(int number)
{
    tide::scope event("event");
    std::unique_ptr<char[]> scratch(new char[5000]());
    results[number - 1].reset(new char[1000]());
    results[number - 1][0] = scratch[number];
    if (number == 10)
        throw std::runtime_error("the last event is broken");
}

int main()
{
    try {
        for (int i = 1; i <= 10; i++)
            process(i);
    } catch (const std::runtime_error &) {
        tide_mark("broken");
    }
    tide::paused not_recorded;
    std::vector<char> table(1000000);
    results[0][0] = table[0];
    return 0;
}
