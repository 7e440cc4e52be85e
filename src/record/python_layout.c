#include "record/python_layout.h"

#include <string.h>

/* What versions have in common. */
#define UP_TO_3_10                                                                                 \
    .runtime_finalizing = 16, .runtime_interpreters = 32, .thread_id = 176,                        \
    .thread_interpreter = 16, .thread_frame = 24, .frame_previous = 24, .frame_code = 32,          \
    .code_file = 104, .code_name = 112, .code_qualified = 112, .code_first_line = 40,              \
    .code_lines = 120, .text_ascii = 48, .text_compact = 72
#define UP_TO_3_9                                                                                  \
    UP_TO_3_10, .chain = PYTHON_ONE_EACH, .lines = WIRE_LINES_LNOTAB, .frame_at = 104,             \
                .at_scale = 1, .frame_locals = 360
#define FROM_3_11                                                                                  \
    .lines = WIRE_LINES_LOCATIONS, .runtime_finalizing = 24, .thread_interpreter = 16,             \
    .thread_cframe = 56, .frame_at = 56, .code_file = 112, .code_name = 120,                       \
    .code_qualified = 128, .code_lines = 136, .frame_locals = 72

static const struct python_layout layouts[] = {
    [8] = {UP_TO_3_9, .runtime_key = 1392, .interpreter_modules = 56},
    [9] = {UP_TO_3_9, .runtime_key = 584, .interpreter_modules = 856},
    [10] = {UP_TO_3_10, .chain = PYTHON_CFRAMES, .lines = WIRE_LINES_RANGES, .runtime_key = 584,
            .interpreter_modules = 856, .thread_cframe = 48, .cframe_previous = 8, .frame_at = 96,
            .at_scale = 2, .frame_locals = 352},
    [11] = {FROM_3_11, .chain = PYTHON_ENTRIES, .runtime_interpreters = 40, .runtime_key = 592,
            .thread_id = 152, .interpreter_modules = 888, .cframe_frame = 8, .cframe_previous = 16,
            .frame_previous = 48, .frame_code = 32, .frame_entry = 68, .frame_owner = 69,
            .code_first_line = 72, .code_instructions = 184, .text_ascii = 48, .text_compact = 72,
            .type_keys = 872, .attributes = PYTHON_VALUES_OR_DICT},
    [12] = {FROM_3_11, .chain = PYTHON_SHIMS, .thread_id = 136, .interpreter_modules = 944,
            .cframe_frame = 0, .cframe_previous = 8, .frame_previous = 8, .frame_code = 0,
            .frame_owner = 70, .code_first_line = 68, .code_instructions = 192, .code_version = 92,
            .text_ascii = 40, .text_compact = 56, .type_keys = 880,
            .attributes = PYTHON_VALUES_TAGGED},
};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

/* Words of _Py_DebugOffsets that are where they are in all versions, and how it is found. */
enum { PUBLISHED_COOKIE, PUBLISHED_VERSION, PUBLISHED_FREE_THREADED, PUBLISHED_FINALIZING = 4 };

/* The other words, which have moved from version to version. */
static const struct published {
    uint8_t modules;                  /* of the interpreter */
    uint8_t interpreter, current, id; /* of a thread's state */
    uint8_t previous; /* of a frame; its executable, instruction, locals and owner follow */
    uint8_t file;     /* of code; its name, qualified name, lines and first line follow */
    uint8_t instructions;
    uint8_t bytes_size; /* their contents follow */
    uint8_t text_state; /* its length and the size of an ASCII one's head follow */
    uint16_t type_keys; /* not among them: what this version has */
    bool base_frame;
} published[] = {
    [13] = {11, 22, 23, 24, 29, 35, 43, 65, 68, 880, false},
    [14] = {12, 25, 26, 27, 32, 40, 48, 75, 78, 880, false},
    [15] = {12, 25, 26, 30, 40, 48, 56, 87, 90, 888, true},
};
#define PUBLISHED (sizeof published / sizeof *published)

static enum wire_python_state take_published(const uint64_t *w, uint64_t size, uint32_t version,
                                             struct python_layout *out)
{
    const struct published *at = &published[version >> 16 & 0xff];
    if (size < (at->text_state + UINT64_C(3)) * 8 ||
        memcmp(&w[PUBLISHED_COOKIE], "xdebugpy", 8) != 0 ||
        (uint32_t)w[PUBLISHED_VERSION] != version)
        return WIRE_PYTHON_STRANGE;
    if (w[PUBLISHED_FREE_THREADED])
        return WIRE_PYTHON_THREADED;
    for (unsigned i = at->interpreter; i < at->text_state + 3u; i++)
        if (w[i] > UINT16_MAX)
            return WIRE_PYTHON_STRANGE;
    if (w[PUBLISHED_FINALIZING] > UINT16_MAX || w[at->modules] > UINT16_MAX ||
        w[at->bytes_size] != PYTHON_SIZE || w[at->bytes_size + 1] != PYTHON_BYTES ||
        w[at->text_state] != PYTHON_STATE || w[at->text_state + 1] != PYTHON_SIZE)
        return WIRE_PYTHON_STRANGE;
    *out = (struct python_layout){.chain = PYTHON_SHIMS,
                                  .lines = WIRE_LINES_LOCATIONS,
                                  .runtime_finalizing = (uint16_t)w[PUBLISHED_FINALIZING],
                                  .thread_id = (uint16_t)w[at->id],
                                  .thread_interpreter = (uint16_t)w[at->interpreter],
                                  .interpreter_modules = (uint16_t)w[at->modules],
                                  .thread_frame = (uint16_t)w[at->current],
                                  .frame_previous = (uint16_t)w[at->previous],
                                  .frame_code = (uint16_t)w[at->previous + 1],
                                  .frame_at = (uint16_t)w[at->previous + 2],
                                  .frame_locals = (uint16_t)w[at->previous + 3],
                                  .frame_owner = (uint16_t)w[at->previous + 4],
                                  .code_file = (uint16_t)w[at->file],
                                  .code_name = (uint16_t)w[at->file + 1],
                                  .code_qualified = (uint16_t)w[at->file + 2],
                                  .code_lines = (uint16_t)w[at->file + 3],
                                  .code_first_line = (uint16_t)w[at->file + 4],
                                  .code_instructions = (uint16_t)w[at->instructions],
                                  .code_version = 92, /* not among them */
                                  .text_ascii = (uint16_t)w[at->text_state + 2],
                                  .text_compact = (uint16_t)(w[at->text_state + 2] + 16),
                                  .type_keys = at->type_keys,
                                  .values_head = 8, /* nor this */
                                  .base_frame = at->base_frame,
                                  .attributes = PYTHON_VALUES_INLINE};
    return WIRE_PYTHON_ON;
}

enum wire_python_state python_layout_find(uint32_t version, uint64_t runtime, uint64_t runtime_size,
                                          struct python_layout *out)
{
    unsigned major = version >> 24, minor = version >> 16 & 0xff, level = version >> 4 & 0xf;
    if (major != 3 || level < 0xc) /* alphas and betas may differ from what was released */
        return WIRE_PYTHON_VERSION;
    if (minor < PUBLISHED && published[minor].file)
        return take_published((const void *)(uintptr_t)runtime, runtime_size, version, out);
    if (minor < 8 || minor >= LAYOUTS)
        return WIRE_PYTHON_VERSION;
    *out = layouts[minor];
    if (runtime_size < out->runtime_key + 8u)
        out->runtime_key = 0;
    return runtime_size > out->runtime_finalizing ? WIRE_PYTHON_ON : WIRE_PYTHON_STRANGE;
}
