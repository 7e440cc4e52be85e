#include "record/python_layout.h"

#include <string.h>

static const struct python_layout layouts[] = {
    [8] = {.chain = PYTHON_ONE_EACH,
           .lines = WIRE_LINES_LNOTAB,
           .runtime_finalizing = 16,
           .runtime_interpreters = 32,
           .runtime_key = 1392,
           .thread_id = 176,
           .thread_interpreter = 16,
           .interpreter_modules = 56,
           .thread_frame = 24,
           .frame_previous = 24,
           .frame_code = 32,
           .frame_at = 104,
           .at_scale = 1,
           .code_file = 104,
           .code_name = 112,
           .code_qualified = 112,
           .code_first_line = 40,
           .code_lines = 120,
           .text_ascii = 48,
           .text_compact = 72,
           .frame_locals = 360},
    [9] = {.chain = PYTHON_ONE_EACH,
           .lines = WIRE_LINES_LNOTAB,
           .runtime_finalizing = 16,
           .runtime_interpreters = 32,
           .runtime_key = 584,
           .thread_id = 176,
           .thread_interpreter = 16,
           .interpreter_modules = 856,
           .thread_frame = 24,
           .frame_previous = 24,
           .frame_code = 32,
           .frame_at = 104,
           .at_scale = 1,
           .code_file = 104,
           .code_name = 112,
           .code_qualified = 112,
           .code_first_line = 40,
           .code_lines = 120,
           .text_ascii = 48,
           .text_compact = 72,
           .frame_locals = 360},
    [10] = {.chain = PYTHON_CFRAMES,
            .lines = WIRE_LINES_RANGES,
            .runtime_finalizing = 16,
            .runtime_interpreters = 32,
            .runtime_key = 584,
            .thread_id = 176,
            .thread_interpreter = 16,
            .interpreter_modules = 856,
            .thread_frame = 24,
            .thread_cframe = 48,
            .cframe_previous = 8,
            .frame_previous = 24,
            .frame_code = 32,
            .frame_at = 96,
            .at_scale = 2,
            .code_file = 104,
            .code_name = 112,
            .code_qualified = 112,
            .code_first_line = 40,
            .code_lines = 120,
            .text_ascii = 48,
            .text_compact = 72,
            .frame_locals = 352},
    [11] = {.chain = PYTHON_ENTRIES,
            .lines = WIRE_LINES_LOCATIONS,
            .runtime_finalizing = 24,
            .runtime_interpreters = 40,
            .runtime_key = 592,
            .thread_id = 152,
            .thread_interpreter = 16,
            .interpreter_modules = 888,
            .thread_cframe = 56,
            .cframe_frame = 8,
            .cframe_previous = 16,
            .frame_previous = 48,
            .frame_code = 32,
            .frame_at = 56,
            .frame_entry = 68,
            .frame_owner = 69,
            .code_file = 112,
            .code_name = 120,
            .code_qualified = 128,
            .code_first_line = 72,
            .code_lines = 136,
            .code_instructions = 184,
            .text_ascii = 48,
            .text_compact = 72,
            .frame_locals = 72,
            .type_keys = 872,
            .attributes = PYTHON_VALUES_OR_DICT},
    [12] = {.chain = PYTHON_SHIMS,
            .lines = WIRE_LINES_LOCATIONS,
            .runtime_finalizing = 24,
            .thread_id = 136,
            .thread_interpreter = 16,
            .interpreter_modules = 944,
            .thread_cframe = 56,
            .cframe_frame = 0,
            .cframe_previous = 8,
            .frame_previous = 8,
            .frame_code = 0,
            .frame_at = 56,
            .frame_owner = 70,
            .code_file = 112,
            .code_name = 120,
            .code_qualified = 128,
            .code_first_line = 68,
            .code_lines = 136,
            .code_instructions = 192,
            .code_version = 92,
            .text_ascii = 40,
            .text_compact = 56,
            .frame_locals = 72,
            .type_keys = 880,
            .attributes = PYTHON_VALUES_TAGGED},
};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

/* Words of _Py_DebugOffsets as 3.13 has them. */
enum {
    PUBLISHED_COOKIE,
    PUBLISHED_VERSION,
    PUBLISHED_FREE_THREADED,
    PUBLISHED_FINALIZING = 4,
    PUBLISHED_INTERPRETER_MODULES = 11,
    PUBLISHED_THREAD_INTERPRETER = 22,
    PUBLISHED_THREAD_FRAME = 23,
    PUBLISHED_THREAD_ID = 24,
    PUBLISHED_FRAME_PREVIOUS = 29,
    PUBLISHED_FRAME_CODE = 30,
    PUBLISHED_FRAME_AT = 31,
    PUBLISHED_FRAME_LOCALS = 32,
    PUBLISHED_FRAME_OWNER = 33,
    PUBLISHED_CODE_FILE = 35,
    PUBLISHED_CODE_NAME = 36,
    PUBLISHED_CODE_QUALIFIED = 37,
    PUBLISHED_CODE_LINES = 38,
    PUBLISHED_CODE_FIRST_LINE = 39,
    PUBLISHED_CODE_INSTRUCTIONS = 43,
    PUBLISHED_BYTES_SIZE = 65,
    PUBLISHED_BYTES = 66,
    PUBLISHED_TEXT_STATE = 68,
    PUBLISHED_TEXT_SIZE = 69,
    PUBLISHED_TEXT_ASCII = 70,
    PUBLISHED
};

static enum wire_python_state take_published(const uint64_t *w, uint32_t version,
                                             struct python_layout *out)
{
    if (memcmp(&w[PUBLISHED_COOKIE], "xdebugpy", 8) != 0 ||
        (uint32_t)w[PUBLISHED_VERSION] != version)
        return WIRE_PYTHON_STRANGE;
    if (w[PUBLISHED_FREE_THREADED])
        return WIRE_PYTHON_THREADED;
    for (unsigned i = PUBLISHED_FINALIZING; i < PUBLISHED; i++)
        if (w[i] > UINT16_MAX && i >= PUBLISHED_THREAD_INTERPRETER)
            return WIRE_PYTHON_STRANGE;
    if (w[PUBLISHED_FINALIZING] > UINT16_MAX || w[PUBLISHED_BYTES_SIZE] != PYTHON_SIZE ||
        w[PUBLISHED_BYTES] != PYTHON_BYTES || w[PUBLISHED_TEXT_SIZE] != PYTHON_SIZE ||
        w[PUBLISHED_TEXT_STATE] != PYTHON_STATE)
        return WIRE_PYTHON_STRANGE;
    *out = (struct python_layout){.chain = PYTHON_SHIMS,
                                  .lines = WIRE_LINES_LOCATIONS,
                                  .runtime_finalizing = (uint16_t)w[PUBLISHED_FINALIZING],
                                  .thread_id = (uint16_t)w[PUBLISHED_THREAD_ID],
                                  .thread_interpreter = (uint16_t)w[PUBLISHED_THREAD_INTERPRETER],
                                  .interpreter_modules = (uint16_t)w[PUBLISHED_INTERPRETER_MODULES],
                                  .thread_frame = (uint16_t)w[PUBLISHED_THREAD_FRAME],
                                  .frame_previous = (uint16_t)w[PUBLISHED_FRAME_PREVIOUS],
                                  .frame_code = (uint16_t)w[PUBLISHED_FRAME_CODE],
                                  .frame_at = (uint16_t)w[PUBLISHED_FRAME_AT],
                                  .frame_owner = (uint16_t)w[PUBLISHED_FRAME_OWNER],
                                  .frame_locals = (uint16_t)w[PUBLISHED_FRAME_LOCALS],
                                  .code_file = (uint16_t)w[PUBLISHED_CODE_FILE],
                                  .code_name = (uint16_t)w[PUBLISHED_CODE_NAME],
                                  .code_qualified = (uint16_t)w[PUBLISHED_CODE_QUALIFIED],
                                  .code_first_line = (uint16_t)w[PUBLISHED_CODE_FIRST_LINE],
                                  .code_lines = (uint16_t)w[PUBLISHED_CODE_LINES],
                                  .code_instructions = (uint16_t)w[PUBLISHED_CODE_INSTRUCTIONS],
                                  .code_version = 92, /* not among them */
                                  .text_ascii = (uint16_t)w[PUBLISHED_TEXT_ASCII],
                                  .text_compact = (uint16_t)(w[PUBLISHED_TEXT_ASCII] + 16),
                                  .type_keys = 880, /* nor these */
                                  .values_head = 8,
                                  .attributes = PYTHON_VALUES_INLINE};
    return WIRE_PYTHON_ON;
}

enum wire_python_state python_layout_find(uint32_t version, uint64_t runtime, uint64_t runtime_size,
                                          struct python_layout *out)
{
    unsigned major = version >> 24, minor = version >> 16 & 0xff, level = version >> 4 & 0xf;
    if (major != 3 || level < 0xc) /* alphas and betas may differ from what was released */
        return WIRE_PYTHON_VERSION;
    if (minor == 13)
        return runtime_size < PUBLISHED * 8
                   ? WIRE_PYTHON_STRANGE
                   : take_published((const void *)(uintptr_t)runtime, version, out);
    if (minor < 8 || minor >= LAYOUTS)
        return WIRE_PYTHON_VERSION;
    *out = layouts[minor];
    if (runtime_size < out->runtime_key + 8u)
        out->runtime_key = 0;
    return runtime_size > out->runtime_finalizing ? WIRE_PYTHON_ON : WIRE_PYTHON_STRANGE;
}
