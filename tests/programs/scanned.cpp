/* What destructors free is there before they run, and not after. */
#include <thread>
#include <vector>

struct holder {
    std::vector<char> bytes;
    explicit holder(size_t size) : bytes(size)
    {
    }
};

static holder of_static(3000);

static holder &of_thread()
{
    static thread_local holder h(3001);
    return h;
}

int main()
{
    static holder of_function(3002);
    of_thread().bytes[0] = 1;
    std::thread([] { of_thread().bytes[0] = 1; }).join();
    of_function.bytes[0] = of_static.bytes[0] = 1;
    return 0;
}
