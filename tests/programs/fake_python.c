/*
 * fake_python: exports what CPython does, of a version given by -DVERSION, with nothing in it that
 * a reader could rely on: states and frames that lead nowhere, types that are not those of its
 * objects.
 *
 * -DCOOKIE makes it look like one that publishes its offsets, -DFREE_THREADED like one without a
 * lock, -DOLD="2.7.18 (..." like one that has no _PyRuntime, and tells that
 * version. Allocates 100 blocks of 100 bytes, prints the PYTHONPATH that getenv returns, and ends
 * with 3.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "known.h"

#define EXPORT __attribute__((visibility("default")))

#ifdef OLD
EXPORT const char *Py_GetVersion(void);
EXPORT int Py_Main(int argc, char **argv);

const char *Py_GetVersion(void)
{
    return OLD;
}

int Py_Main(int argc, char **argv)
{
    return argc + !argv;
}
#else
EXPORT const unsigned long Py_Version = VERSION;
EXPORT uint64_t _PyRuntime[4096] = {
#ifdef COOKIE
    UINT64_C(0x7970677562656478),
    VERSION,
#ifdef FREE_THREADED
    1,
#endif
#endif
};
#endif
EXPORT uint64_t PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];

static uint64_t state[1024];
static int calls;

EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT void *_PyThreadState_UncheckedGet(void);
EXPORT void *PyInterpreterState_Head(void);
EXPORT void *PyInterpreterState_Main(void);

void *PyGILState_GetThisThreadState(void)
{
    static const uint64_t places[] = {
        1, 8, 4096, UINT64_C(0x7ffffffff000), UINT64_C(0x123456789000), UINT64_MAX};
    uint64_t place = places[calls % 6];
    for (unsigned i = 0; i < 1024; i++)
        state[i] = calls % 7 == 6 ? (uintptr_t)&state[i / 2] : place;
    calls++;
    return state;
}

void *_PyThreadState_UncheckedGet(void)
{
    return state;
}

void *PyInterpreterState_Head(void)
{
    return &calls;
}

void *PyInterpreterState_Main(void)
{
    return &calls;
}

SITE void allocates(void)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(100);
}

int main(void)
{
    const char *path;

    allocates();
    path = getenv("PYTHONPATH");
    puts(path ? path : "none");
    return 3;
}
