/* A module for Python that leaks in C: leaks.leak(n) loses a block of n bytes, leaks.grow(n) keeps
 * one for ever. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

static struct kept {
    struct kept *next;
} * kept;

static __attribute__((noinline)) void *leak_some(size_t size)
{
    return malloc(size);
}

static __attribute__((noinline)) void keep_some(size_t size)
{
    struct kept *k = malloc(size);
    k->next = kept;
    kept = k;
}

static PyObject *leak(PyObject *self, PyObject *size)
{
    (void)self;
    void *volatile lost = leak_some(PyLong_AsSize_t(size));
    lost = NULL;
    (void)lost;
    Py_RETURN_NONE;
}

static PyObject *grow(PyObject *self, PyObject *size)
{
    (void)self;
    keep_some(PyLong_AsSize_t(size));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"leak", leak, METH_O, NULL}, {"grow", grow, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "leaks", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_leaks(void)
{
    return PyModule_Create(&module);
}
