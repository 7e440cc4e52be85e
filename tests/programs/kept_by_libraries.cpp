// What libraries keep until the end, beside what the program itself does.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

static void *volatile sink;

struct Early { // runs below the loader's or libc's initialisation
    Early()
    {
        sink = malloc(4321);
    }
} early;

extern "C" __attribute__((noinline)) void leak()
{
    sink = malloc(100);
}

int main()
{
    setlocale(LC_ALL, "");
    time_t now = time(nullptr);
    sink = localtime(&now);
    printf("to stdout\n");
    std::thread([] {}).join();
    leak();
    leak();
    return 0;
}
