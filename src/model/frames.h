/*
 * frames: the frames of a profile's addresses, resolved once each, with the flags that the filter
 * gives them.
 *
 * A node of the stack tree has one address; an address has one or more frames (innermost first, so
 * inlined ones come first). Equal frames (name, module, file, line, kind) have one number. Renames
 * (--merge) are applied here, so everything above sees the new names. Patterns match the new names,
 * but std:: and allocators are recognised by the recorded name. An address without symbols reads
 * "module+0x1234" or "[unknown]+0x1234".
 *
 * What the filter means is decided by stack_filter.h, how a name is shortened or recognised by
 * function_name.h, and how paths of calls are made of frames by call_paths.h.
 *
 * For a recording that is held for many questions (store/held_recordings.h), a few tables are kept
 * (model/frame_cache.h).
 *
 * Ownership: borrows the recording and the filter; frame_table_release frees the rest. Not
 * thread-safe.
 */
#ifndef TIDE_MODEL_FRAMES_H
#define TIDE_MODEL_FRAMES_H

#include <stdint.h>

#include "base/map.h"
#include "model/comparable_name.h"
#include "model/query.h"
#include "model/suppress.h"
#include "store/recording.h"

enum call_flag {
    CALL_ALLOCATOR =
        1,             /* the hooked function or a wrapper of it: not listed at the innermost end */
    CALL_STD = 2,      /* std:: internals: folded at the innermost end by default */
    CALL_WITHIN = 4,   /* matches --within */
    CALL_IGNORED = 8,  /* matches --ignore */
    CALL_DROPPED = 16, /* matches --fold, or is not of the kind asked for: never listed */
    CALL_RENAMED = 32, /* by --merge, or to match another recording: one row for all modules */
    CALL_MARKER = 64,  /* no function: "[cut]", "[unknown]" and the like */
    CALL_PYTHON = 128, /* a Python function */
    CALL_IN_PATH = 256,  /* its file is in --within-path */
    CALL_RECORDER = 512, /* a function of the recorder: never listed */
    CALL_KERNEL = 1024,  /* "[kernel]": time that the kernel spent for the program */
    /* Hands memory of graphics processors on: folded like CALL_STD for the metrics of that
     * memory. */
    CALL_GPU = 2048,
};

struct call_frame {
    /* Indexes into frame_table.strings; 0: unknown. module is a base name. */
    uint32_t name, module, file;
    uint32_t line;
    uint8_t kind; /* enum frame_kind */
    uint16_t flags;
    bool interpreter; /* C code of Python itself: folded by default in stacks with Python frames */
    bool unmatched;   /* an allocator or a marker: patterns of the filter do not apply */
};

struct frame_run {
    uint32_t first, count; /* indexes into frame_table.list */
};

/* Finds the module of an address, for many addresses of one profile. */
struct module_index {
    const struct profile *profile;
    /* The modules in order of start; NULL: some overlap, and are searched one by one. */
    uint32_t *order;
};

/* What a string of the recording means as a file and as a module. Strings are few, frames are
 * many. */
struct path_text {
    uint32_t file, module; /* indexes into frame_table.strings; MAP_NONE: not computed yet */
    bool std_file;         /* a file of the standard library */
    bool own, interpreter; /* as a module: the recorder, Python, */
    bool gpu;              /* CUDA's runtime and driver, or PyTorch's allocators */
};

struct call_paths;

struct frame_table {
    const struct recording *recording;
    const struct profile *profile;
    const struct stack_filter *filter;
    struct recorded_filter recorded;
    struct suppressions presets;        /* with filter->presets */
    struct comparable_names comparable; /* with filter->match */
    struct strpool strings;
    VEC(struct call_frame) frames; /* each distinct frame once */
    VEC(uint32_t) next;            /* the next frame with the same hash */
    struct map index;
    VEC(uint32_t) list; /* frame numbers of all runs, innermost first */
    VEC(struct frame_run) runs;
    struct map addresses; /* node address -> run */
    struct module_index modules;
    uint32_t *run_of; /* node -> run; MAP_NONE: not computed yet */
    /* What the filter says about frames; NULL: the table is not kept for the next question. */
    char *key;
    char *patterns; /* with a key: the --within and --ignore that the flags are based on */
    unsigned taken; /* how often it was used again */
    struct call_paths *paths; /* model/call_paths.h; NULL: not built yet, or not kept */
    struct path_text *texts;  /* indexed by string of the recording */
    /* Indexed by string of the recording: its name and flags as a function; name MAP_NONE: not
     * computed yet. */
    struct renamed {
        uint32_t name;
        uint16_t flags;
    } * functions;
};

void frame_table_init(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct stack_filter *filter);
void frame_table_release(struct frame_table *t);
/* Frees a table, even if it could be kept (model/frame_cache.h). */
void frame_table_free(struct frame_table *t);

/* Applies --within and --ignore of another filter, which is equal otherwise. Not for a table with
 * recorded defaults. */
void frame_table_set_patterns(struct frame_table *t, const struct stack_filter *filter);

/* All frames of a node, innermost first. Valid until the next call. */
struct frame_run frame_table_run(struct frame_table *t, uint32_t node);

/* The module at the address of a node; NULL: none. If several modules were there at different
 * times, the last one whose epoch is not after that of the address. */
const struct module *module_at(const struct profile *p, uint64_t address);

/* module_at for many addresses of one profile. */
void module_index_init(struct module_index *x, const struct profile *p);
void module_index_release(struct module_index *x);
const struct module *module_index_at(const struct module_index *x, uint64_t address);

/* The number of a frame that stands for something other than a function, such as "[cut]". */
uint32_t frame_table_marker(struct frame_table *t, const char *name);

static inline const char *frame_table_string(const struct frame_table *t, uint32_t number)
{
    return strpool_get(&t->strings, number);
}
/* Is it code of the C library or its loader? If their debug information is installed, their lines
 * are known, but they do not help the user. */
bool frame_is_of_libc(const struct frame_table *t, const struct call_frame *f);

/* The name of a module or a file; NULL if it is unknown. */
static inline const char *frame_table_known(const struct frame_table *t, uint32_t number)
{
    return number ? frame_table_string(t, number) : NULL;
}

#endif
