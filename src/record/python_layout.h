/*
 * python_layout: where CPython keeps what the recorder looks at, version by version.
 *
 * From 3.13 on it publishes the places itself (_Py_DebugOffsets at the start of _PyRuntime); for
 * the older ones there is a table. Both hold for release builds with the global lock, on 64-bit
 * machines; python_code.c checks them against the interpreter's type objects before anything is
 * believed. Everything that the recorder assumes of CPython's structures is here and in
 * python_lines.h; docs/SAFETY.md lists the versions it was checked with.
 * [malloc-free] [async-signal-safe]
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
/* Of a str's state. */
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
    PYTHON_KEYS_SIZE = 8 /* of its index: a number up to 3.10, then some bytes of a word */
};
#define PYTHON_MANAGED_DICT  (1u << 4) /* of a type's flags: from 3.11 on, before the object */
#define PYTHON_INLINE_VALUES (1u << 2) /* from 3.13 on: after the object */

/* Before an object with a managed dict: its values (3.11), and its dict, or its values with a tag.
 */
#define PYTHON_VALUES_BEFORE 32
#define PYTHON_DICT_BEFORE   24
/* Of the first word of inline values: were they not given up for a dict of its own? */
#define PYTHON_VALUES_VALID(word) ((word) >> 24 & 0xff)

/* The keys of a dict up to 3.10: how many, and where the index begins. */
#define PYTHON_KEYS_COUNT 32
#define PYTHON_KEYS_INDEX 40
/* The same from 3.11 on, where entries whose keys are all str have no hash. */
#define PYTHON_COMPACT_COUNT            24
#define PYTHON_COMPACT_INDEX            32
#define PYTHON_COMPACT_INDEX_BITS(word) ((word) >> 8 & 0xff) /* of its size in bytes */
#define PYTHON_COMPACT_HASHLESS(word)   (((word) >> 16 & 0xff) >= 1)

/* WIRE_PYTHON_ON and *out; or why not. `runtime`: address of _PyRuntime. */
enum wire_python_state python_layout_find(uint32_t version, uint64_t runtime, uint64_t runtime_size,
                                          struct python_layout *out);

#endif
