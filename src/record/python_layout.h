/*
 * python_layout: the offsets of fields in CPython's structures, for each version.
 *
 * From 3.13 on, CPython publishes most offsets itself (_Py_DebugOffsets at the start of
 * _PyRuntime); for older versions there is a table. Both are valid for release builds with the
 * global lock, on 64-bit machines. python_code.c checks the offsets with the interpreter's type
 * objects before they are used. Everything that the recorder assumes of CPython's structures is
 * here and in python_lines.h; docs/SAFETY.md lists the versions it was checked with. [malloc-free]
 * [async-signal-safe]
 */
#ifndef TIDE_RECORD_PYTHON_LAYOUT_H
#define TIDE_RECORD_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/layout.h"

/* How a frame shows which call of the evaluation loop runs it. */
enum python_chain {
    PYTHON_ONE_EACH, /* up to 3.9: every frame has a call of its own */
    PYTHON_CFRAMES,  /* 3.10: the same, and each call keeps a record on the C stack */
    PYTHON_ENTRIES,  /* 3.11: the frame that began a call is marked; the call keeps a record */
    PYTHON_SHIMS     /* from 3.12 on: below the first frame of a call is a shim on the C stack */
};

/* Where an instance of a class stores its attributes. */
enum python_attributes {
    PYTHON_IN_DICT, /* up to 3.10: in a dict that the instance points to */
    /* 3.11: in an array before the object, whose keys the type has; or in a dict. */
    PYTHON_VALUES_OR_DICT,
    PYTHON_VALUES_TAGGED, /* 3.12: as in 3.11, with one tagged pointer for both */
    PYTHON_VALUES_INLINE  /* from 3.13 on: in an array after the object */
};

/* Offsets in bytes: thread_frame is the offset of `frame` in a thread state, and so on. */
struct python_layout {
    enum python_chain chain;
    enum wire_lines lines;
    uint16_t runtime_finalizing;
    uint16_t runtime_interpreters; /* the newest interpreter, then the first; 0: not known */
    /* The TLS key of the thread state: whether it exists, and its number. */
    uint16_t runtime_key;
    uint16_t thread_id, thread_interpreter;
    uint16_t interpreter_modules; /* sys.modules */
    uint16_t thread_frame;        /* the innermost frame; 0: the cframe has it */
    uint16_t thread_cframe;       /* 0: there is none */
    uint16_t cframe_frame, cframe_previous;
    uint16_t frame_previous, frame_code;
    uint16_t frame_at; /* the current instruction: a count, or a pointer */
    uint16_t frame_entry, frame_owner;
    uint16_t frame_locals;
    uint16_t code_file, code_name, code_qualified; /* qualified: the same as name before 3.11 */
    uint16_t code_first_line, code_lines;
    uint16_t code_instructions; /* 0: frame_at is a count */
    uint16_t code_version;      /* 0: it has none */
    uint16_t text_ascii, text_compact;
    uint16_t type_keys;   /* keys of attributes in an array; 0: the version has none */
    uint16_t values_head; /* before the values */
    enum python_attributes attributes;
    uint8_t at_scale; /* if frame_at is a count: bytes of one unit */
    bool base_frame;  /* the chain ends with a shim that no call of the evaluation loop made */
};

#define PYTHON_OWNED_BY_C 3 /* frame_owner of a shim; larger values are shims too */

/* The object that a reference in a frame points to: from 3.14 on, the low bits of the reference are
 * flags. */
#define PYTHON_REFERENCE(word) ((word) & ~UINT64_C(7))

/* Objects, in all versions. */
#define PYTHON_REFERENCES 0
#define PYTHON_TYPE       8
#define PYTHON_SIZE       16 /* length of str and bytes */
#define PYTHON_STATE      32 /* state of str */
#define PYTHON_BYTES      32 /* contents of bytes */
/* Bits of the state of a str. */
#define PYTHON_TEXT_WIDTH(state)   ((state) >> 2 & 7) /* bytes of a character */
#define PYTHON_TEXT_COMPACT(state) ((state) >> 5 & 1) /* the characters follow at once */
#define PYTHON_TEXT_ASCII(state)   ((state) >> 6 & 1)

/* Types, modules, dicts and their keys, in all versions. */
enum {
    PYTHON_TYPE_BASIC_SIZE = 32,
    PYTHON_TYPE_FLAGS = 168,
    PYTHON_TYPE_DICT_OFFSET = 288,
    PYTHON_DICT_KEYS = 32,
    PYTHON_DICT_VALUES = 40,
    PYTHON_MODULE_DICT = 16,
    /* Size of the index: a number up to 3.10, some bytes of a word from 3.11 on. */
    PYTHON_KEYS_SIZE = 8
};
#define PYTHON_MANAGED_DICT (1u << 4) /* type flag, from 3.11 on: the dict is before the object */
#define PYTHON_INLINE_VALUES                                                                       \
    (1u << 2) /* type flag, from 3.13 on: the values are after the object */

/* Before an object with a managed dict: its values (3.11), and its dict, or its values with a tag.
 */
#define PYTHON_VALUES_BEFORE 32
#define PYTHON_DICT_BEFORE   24
/* The valid flag in the first word of inline values: 0 if the object uses a separate dict
 * instead. */
#define PYTHON_VALUES_VALID(word) ((word) >> 24 & 0xff)

/* The keys of a dict up to 3.10: offset of their number, and of the index. */
#define PYTHON_KEYS_COUNT 32
#define PYTHON_KEYS_INDEX 40
/* The keys of a dict from 3.11 on, where entries whose keys are all str have no hash. */
#define PYTHON_COMPACT_COUNT 24
#define PYTHON_COMPACT_INDEX 32
#define PYTHON_COMPACT_INDEX_BITS(word)                                                            \
    ((word) >> 8 & 0xff) /* logarithm of the size of the index in bytes */
#define PYTHON_COMPACT_HASHLESS(word) (((word) >> 16 & 0xff) >= 1)

/* Fills *out and returns WIRE_PYTHON_ON, or returns the reason why the version cannot be read.
 * `runtime` is the address of _PyRuntime. */
enum wire_python_state python_layout_find(uint32_t version, uint64_t runtime, uint64_t runtime_size,
                                          struct python_layout *out);

#endif
