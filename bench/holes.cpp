// For check_stacks.py, which links it for large pages: allocations at changing depths, through
// virtual calls, lambdas, the standard library, exceptions and functions that realign their stack.
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct node {
    virtual ~node() = default;
    virtual int work(int depth) = 0;
};

static std::map<std::string, std::vector<int>> kept;

static __attribute__((noinline)) int realigned(int n)
{
    alignas(64) volatile char room[192];
    volatile char *more = static_cast<volatile char *>(__builtin_alloca(16 + n % 512));
    room[n % 192] = more[0] = char(n);
    std::unique_ptr<char[]> block(new char[64 + n % 1000]);
    block[0] = room[n % 192];
    return block[0];
}

struct deep : node {
    int work(int depth) override
    {
        std::string text(32 + depth, 'x');
        if (depth == 0) {
            kept[text + std::to_string(rand() % 500)].push_back(depth);
            return realigned(rand());
        }
        if (rand() % 64 == 0)
            throw std::runtime_error(text);
        std::function<int(int)> next = [this, text](int d) { return work(d) + int(text.size()); };
        return next(depth - 1);
    }
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, sum = 0;
    deep d;
    for (int i = 0; i < rounds; i++) {
        try {
            sum += d.work(i % 40);
        } catch (const std::exception &e) {
            sum += int(std::string(e.what()).size());
        }
    }
    return sum == 1;
}
