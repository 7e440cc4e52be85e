#include "collect/naming/python_code.h"

#include <string.h>

#include "base/err.h"
#include "wire/layout.h"

#define TEXT_MOST 65536

static_assert(WIRE_NODE_PYTHON == NODE_PYTHON, "the same bit under two names");

void python_codes_read(struct python_codes *c, const void *memory, uint32_t size, uint32_t used)
{
    if (used > size)
        return; /* the program wrote nonsense */
    if (used > c->records.size)
        strbuf_add(&c->records, (const char *)memory + c->records.size, used - c->records.size);
}

void python_codes_release(struct python_codes *c)
{
    strbuf_release(&c->records);
}

/* Copies the record of this kind at that offset, if all of it is there. */
static bool find(const struct python_codes *c, uint64_t number, uint32_t kind, void *out,
                 size_t out_size, const char **rest)
{
    uint32_t head[2];
    uint64_t offset = number * 8;
    if (number == 0 || offset > c->records.size || c->records.size - offset < out_size)
        return false;
    memcpy(head, c->records.data + offset, sizeof head);
    if (head[0] != kind || head[1] > c->records.size - offset - out_size)
        return false;
    memcpy(out, c->records.data + offset, out_size);
    *rest = c->records.data + offset + out_size;
    return true;
}

/* 0: there is no such text. */
static uint32_t text(const struct python_codes *c, uint32_t number, struct strpool *strings)
{
    struct wire_text t;
    const char *bytes;
    if (!find(c, number, WIRE_PYTHON_TEXT, &t, sizeof t, &bytes) || t.size > TEXT_MOST)
        return 0;
    return strpool_add_n(strings, bytes, t.size);
}

/* The file stands for the module as well: functions of the same name in two files are different. */
struct frame python_codes_frame(const struct python_codes *c, uint64_t address,
                                struct strpool *strings)
{
    struct wire_code code;
    const char *table;
    struct frame f = {.kind = FRAME_PYTHON};
    if (find(c, address >> 32 & (WIRE_CODE_MAX - 1), WIRE_PYTHON_CODE, &code, sizeof code,
             &table)) {
        f.function = text(c, code.name, strings);
        f.file = f.module = text(c, code.file, strings);
        f.line = (uint32_t)address;
    }
    if (!f.function)
        f.function = strpool_add(strings, "[unknown Python code]");
    return f;
}

char *python_note(uint32_t state, uint32_t version)
{
    unsigned major = version >> 24, minor = version >> 16 & 0xff, micro = version >> 8 & 0xff;
    switch (state) {
    case WIRE_PYTHON_VERSION:
        return xasprintf(
            "Python %u.%u.%u is not supported: stacks have native frames only; tidemark "
            "knows releases 3.8 to 3.15",
            major, minor, micro);
    case WIRE_PYTHON_THREADED:
        return xasprintf("stacks are without Python frames: this Python %u.%u.%u is built without "
                         "the global interpreter lock",
                         major, minor, micro);
    case WIRE_PYTHON_PYPY:
        return xstrdup("stacks are without Python frames: PyPy is not supported, CPython is");
    case WIRE_PYTHON_STRANGE:
        return xasprintf("stacks are without Python frames: this Python %u.%u.%u does not have the "
                         "layout of its release (a debug build, perhaps)",
                         major, minor, micro);
    case WIRE_PYTHON_FULL:
        return xstrdup("some Python frames have no name: there was no room for all code that the "
                       "program created");
    default:
        return NULL;
    }
}

char *python_objects_note(uint32_t state, uint32_t objects_state)
{
    if (state == WIRE_PYTHON_NONE || objects_state == WIRE_OBJECTS_ON)
        return NULL;
    return xstrdup(state == WIRE_PYTHON_ON || state == WIRE_PYTHON_FULL
                       ? "Python's objects are not traced: its allocators could not be wrapped"
                       : "Python's objects are not traced, for the same reason");
}
