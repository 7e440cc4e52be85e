// Methods, templates and hidden functions that are entered 100 times each; every tenth entry
// throws.
#include <cstdlib>
#include <stdexcept>
#include <string>

class Processor
{
  public:
    __attribute__((noinline)) void event(int n);
    __attribute__((noinline)) void event(const std::string &name);
    int seen = 0;
};

static void *kept[1000];

void Processor::event(int n)
{
    seen++;
    *(void *volatile *)&kept[n] = std::malloc(100);
    if (n % 10 == 9)
        throw std::runtime_error("every tenth");
}

void Processor::event(const std::string &name)
{
    seen += (int)name.size();
}

namespace
{
template <class T> struct Hidden {
    __attribute__((noinline)) static T work(T value)
    {
        __asm__ volatile("");
        return value + 1;
    }
};
} // namespace

int main()
{
    Processor p;
    int caught = 0;
    for (int i = 0; i < 100; i++)
        try {
            p.event(i);
        } catch (const std::runtime_error &) {
            caught++;
        }
    for (int i = 0; i < 5; i++)
        p.event(std::string("ab"));
    int sum = Hidden<int>::work(1) + (int)Hidden<long>::work(2);
    return caught == 10 && p.seen == 110 && sum == 5 ? 0 : 1;
}
