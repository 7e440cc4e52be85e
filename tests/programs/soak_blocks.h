/*
 * The blocks of soak.cpp: allocated in every way, resized and freed at random, also by another
 * thread, and written down in a log that tests/soak/soak.py reads.
 */
#ifndef TIDE_SOAK_BLOCKS_H
#define TIDE_SOAK_BLOCKS_H

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#define SITE extern "C" __attribute__((noinline, disable_tail_calls))
#else
#define SITE extern "C" __attribute__((noipa, optimize("no-optimize-sibling-calls")))
#endif

/* --- the log ---------------------------------------------------------------------------------- */

enum site {
    MALLOC,
    CALLOC,
    REALLOC,
    REALLOCARRAY,
    POSIX_MEMALIGN,
    ALIGNED_ALLOC,
    MEMALIGN,
    VALLOC,
    PVALLOC,
    NEW,
    NEW_ARRAY,
    NEW_NOTHROW,
    NEW_ALIGNED,
    PLUGIN_A,
    PLUGIN_B,
    SITES
};

struct tally {
    std::atomic<uint64_t> begun, done, bytes_begun, bytes_done;
};

struct site_log {
    tally allocated, freed;
};

struct process_log {
    std::atomic<uint32_t> pid; /* 0: this part is not in use */
    uint32_t padding;
    std::atomic<int64_t> mapped_least, mapped_most; /* bytes mapped at the moment */
    site_log sites[SITES];
};

enum { PROCESSES = 1024 };

struct whole_log {
    std::atomic<uint32_t> processes, failures;
    uint64_t padding[7];
    process_log process[PROCESSES];
};

static whole_log *everything;
static process_log *mine;

/* What the program itself finds wrong: a child that did not end as it should, and the like. */
static void expect(bool condition)
{
    if (!condition)
        everything->failures.fetch_add(1);
}

static void begin(tally &t, uint64_t bytes)
{
    t.bytes_begun += bytes;
    t.begun++;
}

static void end(tally &t, uint64_t bytes)
{
    t.bytes_done += bytes;
    t.done++;
}

static void claim_log()
{
    uint32_t number = everything->processes.fetch_add(1);
    if (number >= PROCESSES)
        _exit(99);
    mine = &everything->process[number];
    mine->pid = static_cast<uint32_t>(getpid());
}

static void open_log(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(*everything)))
        _exit(98);
    /* By system call: the log is not among the program's mappings. */
    everything = reinterpret_cast<whole_log *>(
        syscall(SYS_mmap, 0, sizeof(*everything), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    claim_log();
}

/* --- chance ----------------------------------------------------------------------------------- */

struct chance {
    uint64_t state;

    uint32_t below(uint32_t limit)
    {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return static_cast<uint32_t>((state >> 33) % limit);
    }

    size_t size()
    {
        switch (below(20)) {
        case 0:
            return 0;
        case 1:
            return below(300000);
        default:
            return below(2000);
        }
    }
};

/* --- blocks ----------------------------------------------------------------------------------- */

struct block {
    void *address;
    size_t size;
    site from;
    size_t alignment;
};

SITE void *site_malloc(size_t size)
{
    void *volatile p = malloc(size);
    return p;
}

SITE void *site_calloc(size_t size)
{
    void *volatile p = calloc(1, size);
    return p;
}

SITE void *site_realloc(void *old, size_t size)
{
    void *volatile p = realloc(old, size);
    return p;
}

SITE void *site_reallocarray(void *old, size_t size)
{
    void *volatile p = reallocarray(old, 1, size);
    return p;
}

SITE void *site_posix_memalign(size_t alignment, size_t size)
{
    void *p = nullptr;
    return posix_memalign(&p, alignment, size) ? nullptr : p;
}

SITE void *site_aligned_alloc(size_t alignment, size_t size)
{
    void *volatile p = aligned_alloc(alignment, size);
    return p;
}

SITE void *site_memalign(size_t alignment, size_t size)
{
    void *volatile p = memalign(alignment, size);
    return p;
}

SITE void *site_valloc(size_t size)
{
    void *volatile p = valloc(size);
    return p;
}

SITE void *site_pvalloc(size_t size)
{
    void *volatile p = pvalloc(size);
    return p;
}

SITE void *site_new(size_t size)
{
    void *volatile p = operator new(size);
    return p;
}

SITE void *site_new_array(size_t size)
{
    void *volatile p = operator new[](size);
    return p;
}

SITE void *site_new_nothrow(size_t size)
{
    void *volatile p = operator new(size, std::nothrow);
    return p;
}

SITE void *site_new_aligned(size_t alignment, size_t size)
{
    void *volatile p = operator new(size, std::align_val_t(alignment));
    return p;
}

static const char *plugin_paths[2];

/* The library is gone again when the block is handed on. */
static void *call_plugin(int which, size_t size)
{
    void *library = dlopen(plugin_paths[which], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return nullptr;
    void *symbol = dlsym(library, which ? "site_plugin_b" : "site_plugin_a");
    void *p = symbol ? reinterpret_cast<void *(*)(size_t)>(symbol)(size) : nullptr;
    dlclose(library);
    return p;
}

static block allocate(chance &c, site from)
{
    size_t size = c.size();
    block b = {nullptr, size, from, size_t(16) << c.below(8)};
    tally &t = mine->sites[from].allocated;
    if (from == PVALLOC)
        b.size = (size + 4095) & ~size_t(4095);
    else if (from >= NEW && from <= NEW_NOTHROW && size == 0)
        b.size = 1; /* what the C++ runtime asks malloc for */
    begin(t, b.size);
    switch (from) {
    case MALLOC:
        b.address = site_malloc(size);
        break;
    case CALLOC:
        b.address = site_calloc(size);
        break;
    case REALLOC:
        b.address = site_realloc(nullptr, size);
        break;
    case REALLOCARRAY:
        b.address = site_reallocarray(nullptr, size);
        break;
    case POSIX_MEMALIGN:
        b.address = site_posix_memalign(b.alignment, size);
        break;
    case ALIGNED_ALLOC:
        b.address = site_aligned_alloc(b.alignment, size);
        break;
    case MEMALIGN:
        b.address = site_memalign(b.alignment, size);
        break;
    case VALLOC:
        b.address = site_valloc(size);
        break;
    case PVALLOC:
        b.address = site_pvalloc(size);
        break;
    case NEW:
        b.address = site_new(size);
        break;
    case NEW_ARRAY:
        b.address = site_new_array(size);
        break;
    case NEW_NOTHROW:
        b.address = site_new_nothrow(size);
        break;
    case NEW_ALIGNED:
        b.address = site_new_aligned(b.alignment, size);
        break;
    default:
        b.address = call_plugin(from == PLUGIN_B, size);
        break;
    }
    end(t, b.size);
    expect(b.address != nullptr);
    if (size)
        memset(b.address, 0x5a, size < 64 ? size : 64);
    return b;
}

static bool forked; /* what other threads held at the fork, they hold for ever */

/*
 * Loading a library takes a thousand times longer than the rest. In a forked child it is not
 * allowed: another thread may have been at it, and the loader's locks are not for forks.
 */
static block allocate_anywhere(chance &c)
{
    bool any = c.below(200) == 0 && !forked;
    return allocate(c, static_cast<site>(c.below(any ? SITES : PLUGIN_A)));
}

static void release(chance &c, block &b)
{
    if (!b.address)
        return;
    tally &t = mine->sites[b.from].freed;
    begin(t, b.size);
    switch (b.from) {
    case NEW:
    case NEW_NOTHROW:
        operator delete(b.address);
        break;
    case NEW_ARRAY:
        operator delete[](b.address);
        break;
    case NEW_ALIGNED:
        operator delete(b.address, std::align_val_t(b.alignment));
        break;
    case MALLOC:
    case REALLOC: {
        if (c.below(16)) {
            free(b.address);
        } else { /* a free by another name */
            void *volatile none = realloc(b.address, 0);
            expect(none == nullptr);
        }
        break;
    }
    default:
        free(b.address);
        break;
    }
    end(t, b.size);
    b.address = nullptr;
}

static void resize(chance &c, block &b)
{
    bool array = c.below(2);
    site to = array ? REALLOCARRAY : REALLOC;
    if (!b.address || (b.from >= NEW && b.from <= NEW_ALIGNED))
        return;
    tally &allocated = mine->sites[to].allocated, &freed = mine->sites[b.from].freed;
    if (c.below(8) == 0) { /* fails, and the block stays what it was */
        volatile size_t too_much = SIZE_MAX / 4;
        begin(freed, b.size);
        void *volatile none =
            array ? site_reallocarray(b.address, too_much) : site_realloc(b.address, too_much);
        expect(none == nullptr && errno == ENOMEM);
        freed.begun--;
        freed.bytes_begun -= b.size;
        return;
    }
    size_t size = 1 + c.size();
    begin(freed, b.size);
    begin(allocated, size);
    void *p = array ? site_reallocarray(b.address, size) : site_realloc(b.address, size);
    end(allocated, size);
    end(freed, b.size);
    expect(p != nullptr);
    b = {p, size, to, 16};
}

/* --- blocks that wait to be freed by another thread ------------------------------------------- */

enum { EXCHANGE = 64 };

static struct exchange {
    std::atomic_flag taken;
    block b;
} exchanges[EXCHANGE];

static void hand_over(chance &c, block &b)
{
    exchange &e = exchanges[c.below(EXCHANGE)];
    if (forked || e.taken.test_and_set(std::memory_order_acquire))
        return;
    block theirs = e.b;
    e.b = b;
    e.taken.clear(std::memory_order_release);
    b.address = nullptr;
    release(c, theirs);
}

#endif
