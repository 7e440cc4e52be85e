/*
 * soak LOG SEED STEPS THREADS FORKS PLUGIN_A PLUGIN_B: everything at once, at random, with every
 * allocation known. tests/soak/soak.py compares LOG with the profile.
 *
 * The program's own allocations are made in functions site_*; each counts itself in LOG, a mapped
 * file with a part for each process, before and after the call. So what the profile says of these
 * functions is known: exactly when the program has ended by itself, to within the event that each
 * thread was at when it was killed. What libc and the loader allocate is not under these functions.
 *
 * A forked child leaves inherited blocks alone.
 */
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soak_blocks.h"

/* --- mappings --------------------------------------------------------------------------------- */

enum { PAGE = 4096 };

SITE void *site_mmap(size_t size)
{
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

SITE void *site_mremap(void *old, size_t old_size, size_t size)
{
    return mremap(old, old_size, size, MREMAP_MAYMOVE);
}

static void unmap(char *p, size_t size)
{
    if (!size)
        return;
    mine->mapped_least -= static_cast<int64_t>(size);
    expect(munmap(p, size) == 0);
    mine->mapped_most -= static_cast<int64_t>(size);
}

static void use_mappings(chance &c)
{
    size_t size = (1 + c.below(32)) * size_t(PAGE);
    mine->mapped_most += static_cast<int64_t>(size);
    char *p = static_cast<char *>(site_mmap(size));
    mine->mapped_least += static_cast<int64_t>(size);
    expect(p != MAP_FAILED);
    p[size - 1] = 1;
    if (c.below(2)) {
        size_t other = (1 + c.below(64)) * size_t(PAGE);
        mine->mapped_least -= static_cast<int64_t>(size);
        mine->mapped_most += static_cast<int64_t>(other);
        p = static_cast<char *>(site_mremap(p, size, other));
        mine->mapped_least += static_cast<int64_t>(other);
        mine->mapped_most -= static_cast<int64_t>(size);
        expect(p != MAP_FAILED);
        size = other;
    }
    if (c.below(100) == 0) /* stays */
        return;
    size_t from = c.below(static_cast<uint32_t>(size / PAGE)) * size_t(PAGE);
    unmap(p, from); /* a beginning, a page of the rest, and what is left */
    unmap(p + from, PAGE);
    unmap(p + from + PAGE, size - from - PAGE);
}

/* --- control flow ----------------------------------------------------------------------------- */

struct holder {
    chance &c;
    block b;

    explicit holder(chance &from) : c(from), b(allocate_anywhere(from))
    {
    }
    ~holder()
    {
        release(c, b);
    }
};

SITE void throw_from(chance &c, int depth)
{
    holder h(c);
    if (depth == 0)
        throw std::runtime_error(
            "a message that is too long to be kept inside of the string itself");
    throw_from(c, depth - 1);
}

/* The exception is an allocation of its own. */
SITE void *fail_new(size_t size)
{
    void *volatile p = operator new(size);
    return p;
}

static void use_exceptions(chance &c)
{
    try {
        throw_from(c, static_cast<int>(c.below(8)));
        expect(false);
    } catch (const std::runtime_error &error) {
        std::string copy = error.what();
        expect(copy.size() > 20);
    }
    try {
        volatile size_t too_much = SIZE_MAX / 4;
        fail_new(too_much);
        expect(false);
    } catch (const std::bad_alloc &) {
    }
}

SITE void jump_now(jmp_buf out)
{
    longjmp(out, 1);
}

SITE void jump_from(chance &c, jmp_buf out, block *b, int depth)
{
    if (depth > 0) {
        jump_from(c, out, b, depth - 1);
        return;
    }
    *b = allocate_anywhere(c);
    jump_now(out);
}

static void use_longjmp(chance &c)
{
    jmp_buf out;
    static thread_local block b;
    if (setjmp(out) == 0)
        jump_from(c, out, &b, static_cast<int>(c.below(20)));
    release(c, b);
}

static thread_local sigjmp_buf *jump_out;
static std::atomic<uint32_t> handled;

/* Mapping and unmapping is a pair that leaves nothing behind, seen or not seen. */
extern "C" void handler(int)
{
    int saved = errno;
    handled++;
    void *p = mmap(nullptr, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED)
        munmap(p, PAGE);
    errno = saved;
}

extern "C" void handler_that_jumps(int)
{
    siglongjmp(*jump_out, 1);
}

static void use_signals(chance &c)
{
    sigjmp_buf out;
    if (c.below(2)) {
        raise(SIGUSR1);
        return;
    }
    jump_out = &out;
    if (sigsetjmp(out, 1) == 0)
        raise(SIGUSR2);
}

static void install_handlers(bool timer)
{
    struct sigaction a = {};
    a.sa_handler = handler;
    a.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGUSR1, &a, nullptr);
    sigaction(SIGALRM, &a, nullptr);
    a.sa_handler = handler_that_jumps;
    sigaction(SIGUSR2, &a, nullptr);
    struct itimerval often = {{0, 700}, {0, 700}}, never = {};
    setitimer(ITIMER_REAL, timer ? &often : &never, nullptr);
}

/* Some threads take their signals on a stack of their own. */
struct signal_stack {
    alignas(16) char memory[65536];

    explicit signal_stack(bool wanted)
    {
        stack_t s = {};
        s.ss_sp = memory;
        s.ss_size = sizeof(memory);
        if (wanted)
            sigaltstack(&s, nullptr);
    }
    ~signal_stack()
    {
        stack_t s = {};
        s.ss_flags = SS_DISABLE;
        sigaltstack(&s, nullptr);
    }
};

/* --- threads and processes -------------------------------------------------------------------- */

static const char *own_path, *log_path;
static std::atomic<int> forks_left;
static std::atomic<int> detached;
static int steps;

enum { HELD = 64 };

/* A child of fork, or a program of its own: allocates, leaves some blocks, and ends. */
static void short_life(chance &c)
{
    block held[HELD] = {};
    for (int i = 0; i < 300; i++) {
        block &b = held[c.below(HELD)];
        if (c.below(2))
            resize(c, b);
        release(c, b);
        b = allocate_anywhere(c);
        if (c.below(50) == 0)
            use_mappings(c);
        if (c.below(100) == 0)
            use_exceptions(c);
    }
}

static void exec_self(chance &c)
{
    char seed[24];
    snprintf(seed, sizeof(seed), "%u", c.below(1000000000));
    execl(own_path, own_path, log_path, seed, "child", plugin_paths[0], plugin_paths[1], nullptr);
    _exit(97);
}

static void wait_for_end(pid_t pid, int status)
{
    int got = 0;
    pid_t ended;
    do
        ended = waitpid(pid, &got, 0);
    while (ended < 0 && errno == EINTR);
    expect(ended == pid && got == status);
}

static void use_processes(chance &c)
{
    if (forks_left.fetch_sub(1) <= 0) {
        forks_left = 0;
        return;
    }
    uint32_t kind = c.below(5);
    uint64_t seed = c.below(1000000000);
    if (kind == 0) { /* posix_spawn */
        char text[24];
        snprintf(text, sizeof(text), "%u", c.below(1000000000));
        const char *argv[] = {own_path,        log_path,        text,   "child",
                              plugin_paths[0], plugin_paths[1], nullptr};
        pid_t pid;
        int code =
            posix_spawn(&pid, own_path, nullptr, nullptr, const_cast<char **>(argv), environ);
        expect(code == 0);
        wait_for_end(pid, 7 << 8);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        chance own = {seed};
        forked = true;
        if (kind == 1) /* at once */
            exec_self(own);
        claim_log();
        short_life(own);
        if (kind == 2)
            exec_self(own);
        if (kind == 3)
            kill(getpid(), SIGKILL);
        _exit(9);
    }
    expect(pid > 0);
    wait_for_end(pid, kind <= 2 ? 7 << 8 : kind == 3 ? SIGKILL : 9 << 8);
}

struct last_words {
    chance c;
    block b;
    bool detached_thread;

    ~last_words()
    {
        release(c, b);
        block last = allocate_anywhere(c);
        if (c.below(4))
            release(c, last);
        detached -= detached_thread;
    }
};

static thread_local last_words at_thread_end;

static void *brief_thread(void *argument)
{
    chance c = {reinterpret_cast<uintptr_t>(argument) >> 1};
    at_thread_end.detached_thread = reinterpret_cast<uintptr_t>(argument) & 1;
    at_thread_end.c = c;
    at_thread_end.b = allocate_anywhere(c);
    block b = {};
    for (int i = 0; i < 20; i++) {
        hand_over(c, b);
        release(c, b);
        b = allocate_anywhere(c);
    }
    release(c, b);
    return nullptr;
}

static void use_threads(chance &c)
{
    uintptr_t argument = c.below(1000000000);
    pthread_t id;
    bool detach = c.below(2);
    if (detach)
        detached++;
    expect(pthread_create(&id, nullptr, brief_thread,
                          reinterpret_cast<void *>(argument << 1 | detach)) == 0);
    if (detach)
        pthread_detach(id);
    else
        pthread_join(id, nullptr);
}

static void *work(void *argument)
{
    chance c = {reinterpret_cast<uintptr_t>(argument)};
    signal_stack own(c.below(2));
    block held[HELD] = {};
    for (int i = 0; i < steps; i++) {
        block &b = held[c.below(HELD)];
        switch (c.below(64)) {
        case 0:
            use_exceptions(c);
            break;
        case 1:
            use_longjmp(c);
            break;
        case 2:
            use_signals(c);
            break;
        case 3:
        case 4:
            use_mappings(c);
            break;
        case 5:
            if (c.below(16) == 0)
                use_threads(c);
            break;
        case 6:
            if (c.below(64) == 0)
                use_processes(c);
            break;
        default:
            if (c.below(4) == 0)
                hand_over(c, b);
            if (c.below(4) == 0)
                resize(c, b);
            else {
                release(c, b);
                b = allocate_anywhere(c);
            }
            break;
        }
    }
    return nullptr;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    own_path = argv[0];
    log_path = argv[1];
    open_log(log_path);
    chance c = {strtoull(argv[2], nullptr, 10)};
    if (strcmp(argv[3], "child") == 0) {
        plugin_paths[0] = argv[4];
        plugin_paths[1] = argv[5];
        short_life(c);
        return 7;
    }
    if (argc < 8)
        return 2;
    steps = atoi(argv[3]);
    int threads = atoi(argv[4]);
    forks_left = atoi(argv[5]);
    plugin_paths[0] = argv[6];
    plugin_paths[1] = argv[7];
    install_handlers(true);
    pthread_t ids[64];
    for (int i = 0; i < threads && i < 64; i++)
        if (pthread_create(&ids[i], nullptr, work,
                           reinterpret_cast<void *>(uintptr_t(c.below(1000000000)))))
            return 3;
    for (int i = 0; i < threads && i < 64; i++)
        pthread_join(ids[i], nullptr);
    /* Threads that nobody joins end in their own time; what is live after that is known. */
    while (detached > 0)
        usleep(1000);
    for (exchange &e : exchanges)
        release(c, e.b);
    install_handlers(false);
    return everything->failures ? 4 : 0;
}
