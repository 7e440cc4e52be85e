/*
 * python: the frames of CPython at an allocation, read from the interpreter's own structures.
 *
 *   python.c         finds the interpreter
 *   python_layout.c  where things are in which version
 *   python_frames.c  the thread's state and its chain of frames, at the cost of reading it once
 *   python_merge.c   one stack of native and Python frames
 *   python_code.c    what a code object is called: reported to the collector once
 *   python_name.c    what the thread is called
 *
 * The thread reads only its own state, at a moment when it is in a call (the allocation), so what
 * it finds stands still. A sample of CPU time (cpu_timer.h) comes at any moment: there the frames
 * that the interpreter may be changing are proven first, page by page. Nothing of the interpreter
 * is called but functions that return a pointer, and nothing is changed. What is not certain (another
 * version, a build with other structures, another thread finalising) is not read: stacks are then
 * native alone.
 *
 * Frames are remembered as the walk's are (unwind/walk.h), and proven by reading them again: a
 * frame's address, its code, how far it is, and its caller. A code object is known by its address
 * and a stamp, as addresses are used again; in a frame that is remembered a part of that is enough,
 * as one that was left is forgotten at the next allocation by malloc. Where every free of an object
 * is seen (python_objects.h) the address is enough, till a code object goes. The remembered chain
 * has a hash; (native stack, hash) is looked up in a table to find the stack of both, which is made
 * the first time: from the innermost frame on that is as it was when the last one was made.
 *
 * [malloc-free]; one struct python_thread a thread, which a forked child does not inherit.
 */
#ifndef TIDE_RECORD_PYTHON_H
#define TIDE_RECORD_PYTHON_H

#include <link.h>

#include "record/python_layout.h"
#include "record/python_lines.h"
#include "record/python_objects.h"
#include "record/recorder.h"

#define PYTHON_FRAMES  8192 /* deeper chains lose their outer frames */
#define PYTHON_INDEXES 256  /* by address of a frame */
#define PYTHON_CODES   4096
#define PYTHON_LINES   4096
#define PYTHON_CURSORS 256
#define PYTHON_PAIRS   8192

/* What a code object points to, by address, and some of what is there. */
struct python_parts {
    uint64_t lines, begin;              /* the line table, and how it begins */
    uint64_t file, file_end, file_text; /* file_end: address of its last characters, */
    uint64_t name, name_end, name_text; /* which are in file_text */
    uint32_t first_line, version;       /* with a version, names are not compared */
    bool leaves_page;                   /* a name ends on another page than it begins */
};

/* One line of the cache, because all are compared at every allocation. */
struct python_frame {
    _Alignas(64) uint64_t frame;
    uint64_t code, at; /* at: as the interpreter has it */
    uint64_t previous; /* as read; a shim, where there is one */
    uint64_t caller;   /* the next frame that is a function's; 0: none */
    uint64_t hash;     /* of this frame and all further out */
    uint32_t number;   /* of the code; 0: not shown */
    uint32_t line;     /* 0: not known */
    uint32_t entries;  /* calls of the evaluation loop that begin with it: 0 or 1, seldom more */
};
static_assert(sizeof(struct python_frame) == 64, "one line");

struct python_code {
    uint64_t code, stamp, era; /* era: in which it is known by its address alone */
    uint32_t number;
};

/* The line that an instruction of a code is in. */
struct python_line_at {
    uint64_t key; /* number of the code << 32 | byte of the instruction; 0: nothing here */
    uint32_t line;
};

/* How far the line table of a code was read. */
struct python_reading {
    uint32_t number; /* of the code; 0: none */
    struct python_cursor cursor;
};

/* The stack up to a remembered frame, as it was merged last. */
struct python_merged {
    uint64_t sp; /* the outermost native frame's: of that very stack, not of another coroutine */
    uint64_t native; /* the name of the stack of the native frames in it */
    uint32_t stack;  /* 0: the frame is another */
};

/* The stack up to a native frame that the innermost Python frame led to, as it was merged last. */
struct python_tail {
    uint64_t native; /* the name of the stack of the native frames up to it */
    uint32_t stack;
};

struct python_pair {
    uint64_t key;
    uint32_t stack;
    uint32_t account; /* of that stack; 0: not known */
};

#define PYTHON_NAME 128 /* bytes of a thread's name that are compared */

/* The entry of a dict in which a name was found. */
struct python_dict_entry {
    uint64_t key;
    uint64_t index;
};

/* Words that were read on the way to something. */
struct python_words {
    uint32_t count;
    uint64_t address[4], content[4];
};

/* The thread's name, and how it was found. */
struct python_name {
    uint32_t skip;        /* so many more allocations do not check the name */
    uint64_t frame, hash; /* of the outermost frame, which is still the same */
    uint64_t object;      /* the Thread, its first variable; 0: none that can be read */
    uint64_t innermost;   /* hash of the stack at the last slow check */
    uint64_t slow_checks; /* how many there were, */
    uint64_t chances;     /* and how many there could have been */
    uint64_t misses;      /* in a row: the name was not where it should be */
    struct python_dict_entry name, module, main;
    struct python_words path; /* from the Thread to its attributes */
    uint64_t slot;            /* where the name is; 0: it is to be found anew */
    uint64_t text, data;      /* the str, and its characters */
    uint64_t length;          /* of the str */
    uint32_t state;
    uint32_t size, width; /* of what follows; a character's */
    char raw[PYTHON_NAME];
};

struct python_thread {
    uint64_t state; /* the interpreter's, when the frames were last read */
    uint32_t count;
    bool cut;      /* outer frames were left out */
    bool doubtful; /* a code could not be reported: nothing here counts next time */
    uint64_t era;  /* of what is remembered; 0: it has parts */
    struct python_frame *remembered; /* [PYTHON_FRAMES], outermost first */
    struct python_parts *parts;      /* of their code, while code objects are not watched */
    uint64_t *fresh;                 /* [PYTHON_FRAMES], innermost first */
    struct python_merged *merged;    /* of remembered */
    uint64_t *loops;                 /* of remembered, while merging: where a loop's record is, */
    uint32_t *natives;               /* and how many native frames come before it */
    struct python_tail *tail; /* [WALK_FRAMES], by index of the native frame: of those inside the */
    uint32_t tail_caller; /* innermost Python frame, which is this stack (0: no Python frame), */
    uint32_t tail_end;    /* up to here, as they were merged last */
    struct python_name name;
    uint16_t index[PYTHON_INDEXES]; /* of a frame in remembered, if it is there */
    struct python_code codes[PYTHON_CODES];
    struct python_pair pairs[PYTHON_PAIRS];
    struct python_line_at lines[PYTHON_LINES];
    struct python_reading readings[PYTHON_CURSORS];
};

/* The interpreter that was found. */
struct python {
    struct python_layout layout;
    uint32_t version;
    uint64_t runtime, code_type, text_type, bytes_type, dict_type;
    uint64_t loop, loop_size;   /* _PyEval_EvalFrameDefault, for where frames do not tell */
    uint64_t image, image_size; /* of the file it is in; 0: that has other things in it as well */
    void *(*thread_state)(void);
    void *(*current_state)(void); /* of whoever holds the lock; NULL: nobody, or not this thread */
    void *(*first_interpreter)(void); /* up to 3.11, for subinterpreters */
    void *(*main_interpreter)(void);
    uint64_t map_arena;          /* its function that does; 0: not known */
    struct python_tables tables; /* of its allocators */
    _Atomic uint64_t interpreters,
        key;                   /* where the runtime has them (python_layout.h); 0: ask it */
    _Atomic bool proven;       /* the layout holds: it was tried on this process */
    _Atomic bool names_proven; /* and that of attributes */
    _Atomic bool ends;         /* the collector knows that it does */
};
extern struct python python;

static inline uint64_t python_load(uint64_t address)
{
    return *(const volatile uint64_t *)(uintptr_t)address;
}

static inline uint8_t python_load_byte(uint64_t address)
{
    return *(const volatile uint8_t *)(uintptr_t)address;
}

static inline uint32_t python_load_half(uint64_t address)
{
    return *(const volatile uint32_t *)(uintptr_t)address;
}

/* The state of who finalises it; 0: nobody does. */
static inline uint64_t python_finalizer(void)
{
    uint64_t state = python_load(python.runtime + python.layout.runtime_finalizing);
    if (UNLIKELY(state) && atomic_load_explicit(&recorder.frees_watched, memory_order_relaxed))
        python_objects_unwatch();
    return state;
}

static inline bool python_is_pointer(uint64_t address)
{
    return address >= 4096 && address % 8 == 0 && address < UINT64_C(1) << ARCH_ADDRESS_BITS;
}

/*
 * From here to python_leave() it is not unloaded; false: there is none that can be read. What is
 * stored here is seen by python_close() before it waits, and what that stored is seen here: it has
 * all processors take a fence (fence_all), so that we need none.
 */
static inline bool python_enter(struct thread *t)
{
    if (atomic_load_explicit(&t->in_python, memory_order_relaxed))
        return false; /* a signal came within */
    atomic_store_explicit(&t->in_python, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (LIKELY(atomic_load_explicit(&recorder.python, memory_order_acquire)))
        return true;
    atomic_store_explicit(&t->in_python, false, memory_order_relaxed);
    return false;
}

static inline void python_leave(struct thread *t)
{
    atomic_store_explicit(&t->in_python, false, memory_order_release);
}

/* python.c */
void python_check_file(
    const struct link_map *m);         /* is this file CPython, now that its code runs? */
void python_forget(void);              /* code went away: if it is still there, it is found again */
bool python_close(const void *handle); /* before that goes: nobody reads it from here on, */
void python_closed(void);              /* till then, if python_close said true */
void python_reset(void);               /* new shared memory: nothing has been reported yet */
void python_recover(struct thread *t); /* it was torn out of a hook */
void python_begin(struct thread *t);   /* the thread's memory has another owner */
void python_forget_accounts(struct thread *t); /* those of stacks that it remembers */
void python_give_up(enum wire_python_state why);
void python_check_loaded(void);  /* at the start: all files that are loaded, before they run */
bool python_begins_to_end(void); /* this thread has just begun to finalise it; once */
bool python_has_ended(void);     /* it was found, and is not at work (any more) */
bool python_maps_arena(uint64_t pc, size_t size); /* does mmap, called there, make one? */
void python_settle(
    uint64_t pc);             /* wraps its allocators again, if they were replaced; called there */
void python_find_image(void); /* before it is proven */
struct python_thread *python_thread_new(struct thread *t); /* NULL: no memory */
/* Makes a stack, from the frames that python_known and the walk have just found. */
uint32_t python_merge(struct thread *t, uint64_t key);

/* python_arenas.c: how much of its arenas is resident. */
size_t python_arena_bytes(void);
void python_arena_mapped(const void *p);
void python_arena_unmapped(const void *p); /* any mapping; one that is no arena changes nothing */
/* Bytes of arenas that are not resident; false: there are none, or it cannot be known. */
bool python_arenas_absent(uint64_t *absent_bytes);

/* python_frames.c */
/* Does the thread run Python code? Reads its frames. */
bool python_runs(struct thread *t);
/* For the handler of a signal: can the frames be read, wherever it has interrupted the thread? */
bool python_stands_still(void);
/* The stack of the native frames of that name and the thread's Python frames, if it has any; NULL:
 * none was kept under *key. */
struct python_pair *python_known(struct thread *t, uint64_t native, uint64_t *key);
void python_keep(struct thread *t, uint64_t key, uint32_t stack);
/* Reads the thread's name again, without an allocation. false: it runs no Python code. */
bool python_check_name(struct thread *t);

/* python_code.c */
/* Is there, at this address, what the layout says? Every page is asked for before it is read. */
bool python_prove(uint64_t state);
/* For a thread that a signal has interrupted: the same of its innermost frames, now. */
bool python_is_whole(uint64_t state);
uint32_t python_code_number(struct python_thread *p, uint64_t code, uint64_t stamp);
/* The same, if it was numbered in this era; false: it was not. */
bool python_code_find(const struct python_thread *p, uint64_t code, uint32_t *number);
/* The line of an instruction of the code of that number. */
uint32_t python_code_line(struct python_thread *p, uint32_t number, uint32_t byte);
void python_code_reset(void);
void python_code_recover(void);
/* Where the characters of a str are; false: not where they could be read. */
struct python_text {
    uint64_t data, length;
    uint32_t width; /* bytes of a character */
};
bool python_text_of(uint64_t object, struct python_text *out);
/* The same, of a str with these parts. */
bool python_text_at(uint64_t object, uint32_t state, uint64_t length, struct python_text *out);
/* As UTF-8, `most` bytes and up to 3 more, without a NUL; how many. */
size_t python_text_copy(const struct python_text *text, char *out, size_t most);

/* python_name.c */
/* After the frames were read. `now`: even if that takes long. */
void python_name(struct thread *t, bool now);
/* Is what the system calls the thread only the beginning of its Python name? */
bool python_name_is(const struct thread *t, const char *beginning);

#endif
