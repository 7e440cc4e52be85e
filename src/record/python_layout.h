/*
 * python_layout: where CPython keeps what the recorder looks at, version by version.
 *
 * From 3.13 on it publishes the places itself (_Py_DebugOffsets at the start of _PyRuntime); for
 * the older ones there is a table. Both hold for release builds with the global lock, on 64-bit
 * machines; python_code.c checks them against the interpreter's type objects before anything is
 * believed. [malloc-free] [async-signal-safe]
 */
#ifndef TIDE_RECORD_PYTHON_LAYOUT_H
#define TIDE_RECORD_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/layout.h"

/* How a frame tells which call of the evaluation loop runs it. */
enum python_chain {
    PYTHON_ONE_EACH, /* up to 3.9: every frame has a call of its own, */
    PYTHON_CFRAMES,  /* 3.10: and each call keeps a record on the C stack */
    PYTHON_ENTRIES,  /* 3.11: a frame is marked that began a call, which keeps such a record */
    PYTHON_SHIMS /* from 3.12 on: below such a frame is one on the C stack that is no function's */
};

/* Where an instance of a class has its attributes. */
enum python_attributes {
    PYTHON_IN_DICT,        /* up to 3.10: in a dict, that the instance points to */
    PYTHON_VALUES_OR_DICT, /* 3.11: in values before the object, named by its type; or in a dict */
    PYTHON_VALUES_TAGGED,  /* 3.12: the same, in one word */
    PYTHON_VALUES_INLINE   /* from 3.13 on: in values after the object */
};

/* Offsets in bytes, of what the name says after its owner. */
struct python_layout {
    enum python_chain chain;
    enum wire_lines lines;
    uint16_t runtime_finalizing;
    uint16_t runtime_interpreters; /* the newest one, then the first; 0: not to be asked for */
    uint16_t runtime_key;          /* of a thread's own state: is there one, and its number */
    uint16_t thread_id, thread_interpreter;
    uint16_t interpreter_modules; /* sys.modules */
    uint16_t thread_frame;        /* the innermost frame; 0: the cframe has it */
    uint16_t thread_cframe;       /* 0: there is none */
    uint16_t cframe_frame, cframe_previous;
    uint16_t frame_previous, frame_code;
    uint16_t frame_at; /* how far it is: a count, or a pointer to the instruction */
    uint16_t frame_entry, frame_owner;
    uint16_t frame_locals;
    uint16_t code_file, code_name, code_qualified; /* qualified: name again where it has none */
    uint16_t code_first_line, code_lines;
    uint16_t code_instructions; /* 0: frame_at is a count */
    uint16_t code_version;      /* 0: it has none */
    uint16_t text_ascii, text_compact;
    uint16_t type_keys;   /* of attributes that are in values; 0: none are */
    uint16_t values_head; /* before the values */
    enum python_attributes attributes;
    uint8_t at_scale; /* of a count: bytes of one */
    bool base_frame;  /* the chain ends with a shim that no call of the evaluation loop made */
};

#define PYTHON_OWNED_BY_C 3 /* of frame_owner, and above: a shim */

/* Of references that frames hold, from 3.14 on: the low bits say who counts them. */
#define PYTHON_REFERENCE(word) ((word) & ~UINT64_C(7))

/* Objects, in all versions. */
#define PYTHON_REFERENCES 0
#define PYTHON_TYPE       8
#define PYTHON_SIZE       16 /* of str and bytes */
#define PYTHON_STATE      32 /* of str */
#define PYTHON_BYTES      32 /* of bytes: its contents */

/* WIRE_PYTHON_ON and *out; or why not. `runtime`: address of _PyRuntime. */
enum wire_python_state python_layout_find(uint32_t version, uint64_t runtime, uint64_t runtime_size,
                                          struct python_layout *out);

#endif
