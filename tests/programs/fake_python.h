/*
 * fake_python: what a CPython 3.11 exports, as far as tidemark looks for it, without any state. The
 * file that includes it defines PyGILState_GetThisThreadState and Py_IsInitialized.
 */
#ifndef FAKE_PYTHON_H
#define FAKE_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const unsigned long Py_Version = 0x030b02f0;
EXPORT uint64_t _PyRuntime[4096];
EXPORT uint64_t PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64], PyDict_Type[64];
EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT void *_PyThreadState_UncheckedGet(void);
EXPORT void *PyInterpreterState_Head(void);
EXPORT void *PyInterpreterState_Main(void);
EXPORT int Py_IsInitialized(void);

void *_PyThreadState_UncheckedGet(void)
{
    return NULL;
}

void *PyInterpreterState_Head(void)
{
    return NULL;
}

void *PyInterpreterState_Main(void)
{
    return NULL;
}

#endif
