/* One problem each, in a function whose name begins with planted_, among honest work. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "../../include/tidemark.h"

#define KEEP __attribute__((noinline))

static volatile unsigned sink;

/* Honest work: blocks that are used and freed, between the planted calls. */
static KEEP void honest_work(unsigned n)
{
    std::map<unsigned, std::string> words;
    for (unsigned i = 0; i < 200; i++)
        words[(i * 7919 + n) % 1000] = std::string(20 + i % 50, 'x');
    for (const auto &w : words)
        sink += w.second.size();
}

static KEEP void *touched(size_t size)
{
    void *p = std::malloc(size);
    std::memset(p, 1, size);
    return p;
}

/* The compiler must take it for used. */
static KEEP void look_at(void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* 1: lost, a little for each event */
static KEEP void planted_leak(unsigned n)
{
    char *record = static_cast<char *>(std::malloc(400));
    std::snprintf(record, 400, "record %u", n);
    sink += record[7];
}

/* 2: reachable, but never less */
static std::map<unsigned, std::string> cache;
static KEEP void planted_cache(unsigned n)
{
    for (unsigned i = 0; i < 100; i++)
        cache[n * 100 + i] = std::string(300, 'c');
}

/* 3: grows by doubling, to the same size each time */
static KEEP void planted_doubling(unsigned)
{
    size_t capacity = 64, used = 0;
    char *buffer = static_cast<char *>(std::malloc(capacity));
    while (used < 3000000) {
        if (used + 100 > capacity)
            buffer = static_cast<char *>(std::realloc(buffer, capacity *= 2));
        std::memset(buffer + used, 2, 100);
        used += 100;
    }
    sink += buffer[used / 2];
    std::free(buffer);
}

/* 4: a block that lives for a moment, in a loop */
static KEEP void planted_temporary(unsigned n)
{
    for (unsigned i = 0; i < 20000; i++) {
        char *text = static_cast<char *>(std::malloc(64));
        text[0] = static_cast<char>(n + i);
        sink += text[0];
        std::free(text);
    }
}

/* 5: an array of which a small part is used */
static char *table;
static KEEP void planted_oversized(unsigned n)
{
    if (!table)
        table = static_cast<char *>(std::malloc(256u << 20));
    table[n * 4096] = 1;
}

/* 6: small blocks, rounded up */
struct cell {
    cell *next;
};
static cell *cells;
static KEEP void planted_small(unsigned)
{
    for (unsigned i = 0; i < 5000; i++) {
        cell *c = static_cast<cell *>(std::malloc(1 + sizeof(cell)));
        c->next = cells;
        cells = c;
    }
}
static void free_cells()
{
    while (cells) {
        cell *next = cells->next;
        std::free(cells);
        cells = next;
    }
}

/* 7: a copy of everything, for a moment */
static KEEP void planted_copy(unsigned n)
{
    if (n == 50) {
        void *copy = std::malloc(80u << 20);
        std::memset(copy, 1, 80u << 20);
        sink += static_cast<char *>(copy)[5];
        std::free(copy);
    }
}

/* 8: std::vector without reserve */
static KEEP void planted_vector(unsigned n)
{
    std::vector<unsigned> numbers;
    for (unsigned i = 0; i < 400000; i++)
        numbers.push_back(n + i);
    sink += numbers[n];
}

/* 9: a large buffer that is allocated and never used */
static char *volatile spare; /* so that the compiler keeps it */
static KEEP void planted_unused(unsigned n)
{
    if (n == 1)
        spare = static_cast<char *>(std::calloc(1, 128u << 20));
}

/* 10: a lost list: the head is lost, and all the rest with it */
struct node {
    node *next;
    char payload[120];
};
static KEEP void planted_list(unsigned)
{
    node *head = nullptr;
    for (unsigned i = 0; i < 20; i++) {
        node *n = static_cast<node *>(std::malloc(sizeof(node)));
        n->next = head;
        head = n;
    }
    look_at(head);
}

static void (*const planted[])(unsigned) = {honest_work,      planted_leak,      planted_cache,
                                            planted_doubling, planted_temporary, planted_oversized,
                                            planted_small,    planted_copy,      planted_vector,
                                            planted_unused,   planted_list};

int main(int argc, char **argv)
{
    unsigned which = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
    bool marks = argc > 2;
    void *base = touched(4u << 20);
    for (unsigned n = 1; n <= 100; n++) {
        honest_work(n);
        planted[which](n);
        honest_work(n + 1);
        if (marks)
            tide_mark("event");
        struct timespec pause = {0, 2000000};
        nanosleep(&pause, nullptr);
    }
    free_cells();
    std::free(base);
    return 0;
}
