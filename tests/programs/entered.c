/*
 * entered HOW COUNT [LIBRARY]: functions that are entered a known number of times, in a program
 * that says nothing about it.
 *
 * event: keeps 100 bytes and gives back 50, so that 100 x (n - 1) bytes in n - 1 blocks are live
 * when it is entered for the n-th time. Every register that may hold an argument does, and errno is
 * its own. With -DLIBRARY it is a library that has `event`; with -DNO_EVENT a program without.
 */
#include <dlfcn.h>
#include <errno.h>
#include <immintrin.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__ /* makes no copies of functions */
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

struct big {
    long values[9];
};
typedef struct big event_function(int n, long b, long c, long d, long e, double f, double g,
                                  double h, double i, double j, double k, double l, double m,
                                  long stack1, double stack2);

event_function event;
#ifndef NO_EVENT
static void *kept[100000];
struct big event(int n, long b, long c, long d, long e, double f, double g, double h, double i,
                 double j, double k, double l, double m, long stack1, double stack2)
{
    struct big result = {{n, b, c, d, e, errno, stack1, (long)stack2,
                          (long)(f + 2 * g + 3 * h + 4 * i + 5 * j + 6 * k + 7 * l + 8 * m)}};
    *(void *volatile *)&kept[n] = malloc(100);
    void *volatile temporary = malloc(50);
    free(temporary);
    return result;
}
#endif

#ifndef LIBRARY
static int wrong;

static void call(event_function *f, int n)
{
    errno = 77;
    struct big r = f(n, 1, -2, 3, -4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    const struct big want = {{n, 1, -2, 3, -4, 77, 9, 10, 204}};
    wrong |= memcmp(&r, &want, sizeof r) != 0;
}

ALONE static int descend(int depth)
{
    return depth ? descend(depth - 1) + 1 : 0;
}

/* Arguments in vectors of 32 bytes, and one more that a call need not keep. */
ALONE __attribute__((target("avx"))) static double wide(__m256d a, __m256d b)
{
    double sums[4];
    _mm256_storeu_pd(sums, _mm256_sub_pd(a, b));
    return sums[0] + sums[1] + sums[2] + sums[3];
}

__attribute__((target("avx"))) static void call_wide(int count)
{
    for (int i = 0; i < count; i++)
        wrong |= wide(_mm256_set_pd(i, 2, 30, 400), _mm256_set_pd(1, 1, 1, 1)) != i + 428;
}

ALONE static int adds(int count, ...)
{
    va_list args;
    va_start(args, count);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(args, double);
    va_end(args);
    return (int)sum;
}

static jmp_buf back;
ALONE static void leaps(int n)
{
    void *volatile p = malloc(10);
    free(p);
    longjmp(back, n);
}

static volatile sig_atomic_t handled;
ALONE static void handles(int signal)
{
    handled += signal;
}

ALONE static void raises(void)
{
    raise(SIGUSR1);
}

static int rounds;
static void *in_thread(void *f)
{
    event_function *function;
    memcpy(&function, &f, sizeof f);
    for (int i = 0; i < rounds; i++)
        call(function, i);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argv[1];
    int count = rounds = atoi(argv[2]);
    event_function *f = NULL;
    void *found = argc > 3 ? dlsym(dlopen(argv[3], RTLD_NOW), "event") : NULL;
    memcpy(&f, &found, sizeof f);
#ifndef NO_DIRECT
    f = f ? f : event;
#endif
    if (strcmp(how, "event") == 0) {
        for (int i = 0; i < count; i++)
            call(f, i);
    } else if (strcmp(how, "again") == 0) { /* loads and unloads it, each time as new */
        for (int i = 0; i < count; i++) {
            void *library = dlopen(argv[3], RTLD_NOW);
            found = dlsym(library, "event");
            memcpy(&f, &found, sizeof f);
            call(f, i);
            dlclose(library);
        }
    } else if (strcmp(how, "descend") == 0) {
        for (int i = 0; i < count; i++)
            wrong |= descend(i) != i;
    } else if (strcmp(how, "wide") == 0) {
        call_wide(count);
    } else if (strcmp(how, "adds") == 0) {
        for (int i = 0; i < count; i++)
            wrong |= adds(9, 1., 2., 3., 4., 5., 6., 7., 8., (double)i) != 36 + i;
    } else if (strcmp(how, "leaps") == 0) {
        volatile int left = 0;
        for (volatile int i = 1; i <= count; i++)
            if (setjmp(back) == 0)
                leaps(i);
            else
                left++;
        wrong = left != count;
    } else if (strcmp(how, "handles") == 0) {
        signal(SIGUSR1, handles);
        for (int i = 0; i < count; i++)
            raises();
        wrong = handled != count * SIGUSR1;
    } else if (strcmp(how, "threads") == 0) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, in_thread, found ? found : *(void **)&f);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(how, "forks") == 0) {
        pid_t child = fork();
        for (int i = 0; i < (child ? count : 2 * count); i++)
            call(f, i);
        int status = 0;
        if (child && (waitpid(child, &status, 0) != child || status))
            wrong = 1;
    } else {
        return 3;
    }
    return wrong;
}
#endif
