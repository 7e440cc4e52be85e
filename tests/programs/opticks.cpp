/*
 * opticks KIND EVENTS [SCALE [LEAK]]: events of 10,000 to 300,000 items of 96 bytes, divided by
 * SCALE, are collected into arrays that grow, and each ends with a mark "event". LEAK is 1 to lose
 * a hundredth of each event's items. KIND says which arrays. Prints what they really did: how many
 * were begun, growths, bytes copied and the largest size.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../include/tidemark.h"

#define KEEP __attribute__((noinline))

struct Item {
    float values[24];
};

struct Known {
    uint64_t arrays, growths, copied, largest;

    void grown(uint64_t from, uint64_t to, bool moved = true)
    {
        arrays += from == 0;
        growths += from != 0;
        copied += moved ? from : 0;
        largest = to > largest ? to : largest;
    }
};
static Known known;
static char *volatile sink;

/* push_back, and what it does to the capacity */
template <typename T> static inline void push(std::vector<T> &v, const T &value, Known &k)
{
    size_t before = v.capacity();
    v.push_back(value); /* pushed */
    if (v.capacity() != before)
        k.grown(before * sizeof(T), v.capacity() * sizeof(T));
}

static KEEP void collect(std::vector<Item> &items, unsigned n, Known &k)
{
    for (unsigned i = 0; i < n; i++)
        push(items, Item{{float(i)}}, k);
}

/* Written by hand: grows by half, and by realloc. */
struct Array {
    char *data = nullptr;
    size_t used = 0, capacity = 0;
};

static KEEP void grow_by_half(Array &a)
{
    size_t larger = a.capacity + a.capacity / 2 + 1;
    char *data = static_cast<char *>(std::malloc(larger * sizeof(Item))); /* half */
    if (a.data) {
        std::memcpy(data, a.data, a.used * sizeof(Item));
        std::free(a.data);
    }
    known.grown(a.capacity * sizeof(Item), larger * sizeof(Item));
    a.data = data;
    a.capacity = larger;
}

static KEEP void grow_by_realloc(Array &a)
{
    size_t larger = a.capacity ? 2 * a.capacity : 1;
    uintptr_t before = reinterpret_cast<uintptr_t>(a.data);
    a.data = static_cast<char *>(std::realloc(a.data, larger * sizeof(Item))); /* realloc */
    known.grown(a.capacity * sizeof(Item), larger * sizeof(Item),
                reinterpret_cast<uintptr_t>(a.data) != before);
    a.capacity = larger;
}

template <typename Grow> static inline void fill(Array &a, unsigned n, Grow grow)
{
    for (unsigned i = 0; i < n; i++) {
        if (a.used == a.capacity)
            grow(a);
        std::memset(a.data + sizeof(Item) * a.used++, int(i), sizeof(Item));
    }
}

/* One array that two lines add to, and that two functions call. */
static KEEP void add(std::vector<Item> &items, unsigned i)
{
    if (i % 3)
        push(items, Item{{1}}, known);
    else
        push(items, Item{{2}}, known);
}

static KEEP void cerenkov(std::vector<Item> &items, unsigned i)
{
    add(items, i);
    sink = nullptr; /* so that the call is not the last thing */
}

static KEEP void scintillation(std::vector<Item> &items, unsigned i)
{
    add(items, i);
    sink = nullptr;
}

/* No arrays: buffers of any size, each of which takes the place of the last. */
static uint64_t seed = 1;
static size_t any_size()
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return size_t(64) << (seed >> 33) % 12 | (seed >> 45) % 64;
}

static KEEP void double_buffer(unsigned n)
{
    char *current = nullptr;
    for (unsigned i = 0; i < n; i++) {
        char *next = static_cast<char *>(std::malloc(any_size()));
        sink = next;
        std::free(current);
        current = next;
    }
    std::free(current);
}

static KEEP void two_buffers(unsigned n)
{
    char *current = nullptr;
    for (unsigned i = 0; i < n; i++) {
        char *next = static_cast<char *>(std::malloc(any_size()));
        sink = next;
        std::free(current);
        char *other = static_cast<char *>(std::malloc(any_size()));
        sink = other;
        std::free(next);
        current = other;
    }
    std::free(current);
}

static KEEP void shuffled(unsigned n)
{
    char *pool[64] = {};
    for (unsigned i = 0; i < n; i++) {
        char *next = static_cast<char *>(std::malloc(any_size()));
        sink = next;
        unsigned which = unsigned(seed >> 50) % 64;
        std::free(pool[which]);
        pool[which] = next;
    }
    for (char *block : pool)
        std::free(block);
}

/* Each buffer twice the last one, but for those that begin again. */
static KEEP void sawtooth(unsigned n)
{
    char *current = nullptr;
    for (unsigned i = 0; i < n; i++) {
        char *next = static_cast<char *>(std::malloc(size_t(4096) << i % 5));
        sink = next;
        std::free(current);
        current = next;
    }
    std::free(current);
}

static KEEP void lose(size_t bytes)
{
    char *lost = static_cast<char *>(std::malloc(bytes));
    std::memset(lost, 1, bytes);
    sink = lost;
    sink = nullptr;
}

static KEEP void event(const std::string &kind, unsigned n)
{
    static std::vector<Item> kept;
    static Array kept_array;
    if (kind == "kept") {
        kept.clear();
        collect(kept, n, known);
    } else if (kind == "fresh") {
        std::vector<Item> items;
        collect(items, n, known);
    } else if (kind == "half") {
        Array a;
        fill(a, n, grow_by_half);
        std::free(a.data);
    } else if (kind == "realloc") {
        Array a;
        fill(a, n, grow_by_realloc);
        std::free(a.data);
    } else if (kind == "realloc-kept") {
        kept_array.used = 0;
        fill(kept_array, n, grow_by_realloc);
    } else if (kind == "interleaved") {
        std::vector<Item> items[4];
        for (unsigned i = 0; i < n; i++)
            push(items[i * i % 7 % 4], Item{{float(i)}}, known);
    } else if (kind == "strings") {
        std::vector<std::string> words;
        for (unsigned i = 0; i < n; i++)
            push(words, std::string("short"), known);
        for (auto &word : words)
            word = "a word that is too long to be kept in the string itself";
        for (unsigned i = 0; i < n; i++)
            push(words, std::string("more"), known);
    } else if (kind == "paths") {
        std::vector<Item> items;
        for (unsigned i = 0; i < n; i++)
            i % 5 ? cerenkov(items, i) : scintillation(items, i);
    } else if (kind == "reserved") {
        std::vector<Item> items;
        items.reserve(1000);
        known.arrays++;
        collect(items, n, known);
    } else if (kind == "threads") {
        std::thread threads[4];
        Known each[4] = {};
        for (unsigned i = 0; i < 4; i++)
            threads[i] = std::thread([&each, i, n] {
                std::vector<Item> items;
                collect(items, n / (i + 1), each[i]);
            });
        for (unsigned i = 0; i < 4; i++) {
            threads[i].join();
            known.arrays += each[i].arrays;
            known.growths += each[i].growths;
            known.copied += each[i].copied;
            known.largest = each[i].largest > known.largest ? each[i].largest : known.largest;
        }
    } else if (kind == "double-buffer") {
        double_buffer(n);
    } else if (kind == "two-buffers") {
        two_buffers(n);
    } else if (kind == "shuffled") {
        shuffled(n);
    } else if (kind == "sawtooth") {
        sawtooth(n);
    }
}

int main(int argc, char **argv)
{
    static const unsigned thousands[] = {10, 50, 60, 80, 10, 100, 30, 300, 20, 10};
    std::string kind = argc > 1 ? argv[1] : "";
    unsigned events = argc > 2 ? unsigned(std::atoi(argv[2])) : 10;
    unsigned scale = argc > 3 ? unsigned(std::atoi(argv[3])) : 1;
    for (unsigned i = 0; i < events; i++) {
        unsigned n = thousands[i % 10] * 1000 / scale;
        event(kind, n);
        if (argc > 4 && argv[4][0] == '1')
            lose(n * sizeof(Item) / 100);
        tide_mark_value("event", "items", n);
    }
    std::printf("%llu %llu %llu %llu\n", (unsigned long long)known.arrays,
                (unsigned long long)known.growths, (unsigned long long)known.copied,
                (unsigned long long)known.largest);
    return 0;
}
