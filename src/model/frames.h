/*
 * frames: the frames of a profile's addresses, resolved once each, with what the focus says about
 * them.
 *
 * A node of the stack tree has one address; an address has one or more frames (inlined ones first,
 * innermost first). Equal frames (name, module, file, line, kind) have one number. Renames
 * (--merge) are applied here, so everything above sees the new names; the patterns match the new
 * names, while what is std:: or an allocator is decided on the name as recorded.
 *
 * An address without symbols reads "module+0x1234" or "[unknown]+0x1234".
 *
 * Of a recording that is held for many questions (store/held.h), a few tables are kept for the
 * next ones (model/kept_frames.h).
 *
 * Ownership: borrows the recording and the focus; frame_table_release frees the rest. Not
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
    CALL_DROPPED = 16, /* matches --fold, or not of the kind asked for: never listed */
    CALL_RENAMED = 32, /* by --merge or to match another recording: one row for all modules */
    CALL_MARKER = 64,  /* no function: "[cut]", "[unknown]" and the like */
    CALL_PYTHON = 128, /* a Python function */
    CALL_IN_PATH = 256,  /* its file is one of --within-path */
    CALL_RECORDER = 512, /* a function of ours inside the program: never listed */
    CALL_KERNEL = 1024,  /* "[kernel]": time that it spent for the program */
};

struct call_frame {
    uint32_t name, module, file; /* in frame_table.strings; 0: unknown. module is a base name */
    uint32_t line;
    uint8_t kind; /* enum frame_kind */
    uint16_t flags;
    bool interpreter; /* C code of Python itself: folded by default where Python frames tell more */
    bool unmatched;   /* an allocator or a marker: no pattern of the focus applies to it */
};

struct frame_run {
    uint32_t first, count; /* in frame_table.list */
};

/* Which module held an address, for many addresses of one profile. */
struct module_index {
    const struct profile *profile;
    uint32_t
        *order; /* numbers of modules by start; NULL: some overlap, and are searched one by one */
};

/* What a string of a recording means as a file and as a module; they are few, and frames many. */
struct path_text {
    uint32_t file, module; /* in frame_table.strings; MAP_NONE: nobody asked yet */
    bool std_file;         /* a file of the standard library */
    bool own, interpreter; /* a module: the recorder, Python */
};

struct call_paths;

struct frame_table {
    const struct recording *recording;
    const struct profile *profile;
    const struct focus *focus;
    /* What the recording says should be left out, unless the focus says no; and the presets. */
    struct pattern_list recorded_within, recorded_ignore;
    struct suppressions recorded_suppress, presets;
    struct comparable_names comparable; /* with focus->match */
    struct strpool strings;
    VEC(struct call_frame) frames; /* each distinct frame once */
    VEC(uint32_t) next;            /* frames with the same hash */
    struct map index;
    VEC(uint32_t) list; /* frame numbers, innermost first */
    VEC(struct frame_run) runs;
    struct map addresses; /* node address -> run */
    struct module_index modules;
    uint32_t *run_of; /* node -> run, MAP_NONE: not yet */
    char *key;        /* what the focus says about frames; NULL: not kept for the next question */
    char *patterns;   /* with a key: --within and --ignore that the flags are of */
    unsigned taken;   /* how often it was taken up again */
    struct call_paths *paths; /* model/call_paths.h; NULL: not made yet, or not kept */
    struct path_text *texts;  /* by string of the recording */
    struct renamed {
        uint32_t name;
        uint16_t flags;
    } * functions; /* recording string -> name and flags as a function; name MAP_NONE: not yet */
};

/* Does the focus, with what was recorded as its default, let every stack through? */
bool focus_takes_all(const struct recording *r, const struct focus *f);

void frame_table_init(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct focus *focus);
void frame_table_release(struct frame_table *t);
/* Frees it, also one that could be kept (model/kept_frames.h). */
void frame_table_free(struct frame_table *t);

/* Takes --within and --ignore of another focus, which says the same in all else. Not for a table
 * with defaults that were recorded. */
void frame_table_set_patterns(struct frame_table *t, const struct focus *focus);

/* The frames of a node, innermost first, all of them. Good until the next call. */
struct frame_run frame_table_run(struct frame_table *t, uint32_t node);

/* The module that held a node's address; among those of other times the latest before it. NULL:
 * none. */
const struct module *module_at(const struct profile *p, uint64_t address);

/* The same for many addresses. */
void module_index_init(struct module_index *x, const struct profile *p);
void module_index_release(struct module_index *x);
const struct module *module_index_at(const struct module_index *x, uint64_t address);

/* The number of a frame that stands for something else than a function, such as "[cut]". */
uint32_t frame_table_marker(struct frame_table *t, const char *name);

/* Are stacks without a frame that is CALL_WITHIN left out? */
static inline bool frame_table_has_within(const struct frame_table *t)
{
    return t->recorded_within.patterns.count || (t->focus && t->focus->within.patterns.count);
}

/* Likewise those without a frame that is CALL_IN_PATH? */
static inline bool frame_table_has_paths(const struct frame_table *t)
{
    return t->focus && t->focus->paths.count;
}

static inline const char *frame_table_string(const struct frame_table *t, uint32_t number)
{
    return strpool_get(&t->strings, number);
}
/* Is it code of the C library or its loader? Their lines are known where their debug information is
 * installed, and tell nobody anything. */
bool frame_is_of_libc(const struct frame_table *t, const struct call_frame *f);

/* Of a module or a file, which may be unknown: then NULL. */
static inline const char *frame_table_known(const struct frame_table *t, uint32_t number)
{
    return number ? frame_table_string(t, number) : NULL;
}

#endif
