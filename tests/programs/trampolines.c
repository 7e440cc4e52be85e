/*
 * trampolines KIND ROUNDS: calls functions through code that is made at run time, one piece for
 * each, as CPython does with -X perf; it has no unwind information, and /tmp/perf-PID.map has its
 * names. KIND: sub or push, how the code makes its frame. "six", "three" and "one" do 60, 30 and
 * 10 % of the work, and "outer" calls them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define APART    16
#define PAGE     4096

typedef long evaluator(long a, long b, long c);
typedef long trampoline(long a, long b, long c, evaluator *called);

/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
static const uint8_t with_sub[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
/* push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret */
static const uint8_t with_push[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3};

static trampoline *made[4]; /* six, three, one, outer */
static volatile uint64_t result;

NOINLINE static long evaluate(long times, long rounds, long c)
{
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < times * rounds; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    result = state;
    return c;
}

NOINLINE static long evaluate_outer(long rounds, long b, long c)
{
    for (long i = 0; i < rounds; i++)
        c += made[0](6, 400, i, evaluate) + made[1](3, 400, i, evaluate) +
             made[2](1, 400, i, evaluate);
    return b + c;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"six", "three", "one", "outer"};
    if (argc != 3)
        return 2;
    int push = strcmp(argv[1], "push") == 0;
    char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (code == MAP_FAILED || !map)
        return 2;
    size_t size = push ? sizeof with_push : sizeof with_sub;
    for (int i = 0; i < 4; i++) {
        memcpy(code + i * APART, push ? with_push : with_sub, size);
        made[i] = (trampoline *)(uintptr_t)(code + i * APART);
        fprintf(map, "%lx %zx py::%s:/work/script.py\n", (unsigned long)(uintptr_t)made[i], size,
                names[i]);
    }
    fclose(map);
    if (mprotect(code, PAGE, PROT_READ | PROT_EXEC) != 0)
        return 2;
    made[3](atol(argv[2]), 0, 0, evaluate_outer);
    return 0;
}
