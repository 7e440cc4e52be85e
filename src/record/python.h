/*
 * python: the frames of CPython at an allocation, read from the interpreter's own structures.
 *
 *   python.c              finds the interpreter
 *   python_layout.c       offsets of the interpreter's structures, for each version
 *   python_frames.c       reads the thread's state and its chain of frames
 *   python_merge.c        merges native and Python frames into one stack
 *   python_lines.c        from an instruction to its line
 *   python_code.c         reports the names of a code object to the collector, once
 *   python_thread_name.c  reads the Python name of the thread
 *
 * A thread reads only its own state, while it is inside a call (the allocation), so the interpreter
 * does not change the frames meanwhile. A sample of CPU time (cpu_timer.h) may come while the
 * interpreter changes frames; so the innermost frames are checked first, page by page. The recorder
 * calls only functions of the interpreter that return a pointer, and changes nothing. If the layout
 * is not certain (another version, a build with other structures, another thread that finalises the
 * interpreter), it reads nothing, and stacks have native frames only.
 *
 * The thread remembers its Python frames, like the native frames of a walk (unwind/walk.h), and
 * verifies them by reading them again: the address of a frame, its code, its current instruction
 * and its caller. A code object is identified by its address and a stamp (a checksum), because
 * addresses are reused. For a remembered frame a part of the stamp is enough, because frames that
 * were left are forgotten at the next allocation by malloc. If the recorder sees every free of an
 * object (python_objects.h), the address is enough, until a code object is freed. The remembered
 * chain has a hash. A table maps (native stack, hash) to the merged stack. A stack that is not in
 * the table is merged from the innermost frame that is unchanged since the last merge.
 *
 * [malloc-free]; each thread has one struct python_thread, which a forked child does not inherit.
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

/* The objects that a code object points to, by address, and a part of their contents. */
struct python_parts {
    uint64_t lines, begin;              /* the line table, and how it begins */
    uint64_t file, file_end, file_text; /* file_end: address of its last characters, */
    uint64_t name, name_end, name_text; /* which are in file_text */
    uint32_t first_line;
    bool leaves_page; /* a name ends on another page than it begins */
};

/* A remembered frame. It has the size of a cache line, because all are compared at every
 * allocation. */
struct python_frame {
    _Alignas(64) uint64_t frame;
    uint64_t code, at; /* at: the current instruction, as stored in the frame */
    uint64_t previous; /* the frame's own pointer, which may point to a shim */
    uint64_t caller;   /* the next frame of a function; 0: none */
    uint64_t hash;     /* hash of this frame and of all frames further out */
    uint32_t number;   /* number of the code; 0: the frame is not shown */
    uint32_t line;     /* 0: not known */
    /* Calls of the evaluation loop that begin with this frame: 0 or 1, rarely more. */
    uint32_t entries;
    uint32_t version; /* the code's; 0: its parts identify it */
};
static_assert(sizeof(struct python_frame) == 64, "one line");

struct python_code {
    uint64_t code, stamp, era; /* era: in which the address alone identifies it */
    uint32_t number;
};

/* A cache entry: the source line of an instruction. */
struct python_line_at {
    uint64_t key; /* number of the code << 32 | offset of the instruction; 0: the entry is empty */
    uint32_t line;
};

/* The position up to which the line table of a code was read. */
struct python_reading {
    uint32_t number; /* number of the code; 0: the entry is empty */
    struct python_cursor cursor;
};

/* The merged stack up to a remembered frame, from the last merge. */
struct python_merged {
    uint64_t sp;     /* sp of the outermost native frame, to recognise another coroutine */
    uint64_t native; /* identifies the native frames of the merged stack */
    uint32_t stack;  /* number of the merged stack; 0: the frame has changed */
};

/* The merged stack up to a native frame that the innermost Python frame called, from the last
 * merge. */
struct python_tail {
    uint64_t native; /* identifies the native frames up to this one */
    uint32_t stack;  /* number of the merged stack */
};

struct python_pair {
    uint64_t key;
    uint32_t stack;
    uint32_t account; /* account of the stack; 0: not known */
};

#define PYTHON_NAME 128 /* bytes of a thread's name that are compared */

/* The entry of a dict in which a name was found. */
struct python_dict_entry {
    uint64_t key;
    uint64_t index;
};

/* Words that were read to follow a chain of pointers. */
struct python_words {
    uint32_t count;
    uint64_t address[4], content[4];
};

/* The thread's name, and how it was found. */
struct python_name {
    uint32_t skip;        /* number of allocations until the name is checked again */
    uint64_t frame, hash; /* of the outermost frame, to notice that it has changed */
    /* The Thread object, the first variable of that frame; 0: cannot be read. */
    uint64_t object;
    uint64_t innermost;   /* hash of the stack at the last slow check */
    uint64_t slow_checks; /* number of slow checks so far */
    uint64_t chances;     /* number of moments at which a slow check was possible */
    uint64_t misses;      /* number of checks in a row that did not find the name */
    struct python_dict_entry name, module, main;
    struct python_words path; /* from the Thread to its attributes */
    uint64_t slot;            /* address of the pointer to the name; 0: must be searched for */
    uint64_t text, data;      /* the str, and its characters */
    uint64_t length;          /* number of characters of the str */
    uint32_t state;
    uint32_t size, width; /* bytes in `raw`; bytes of a character */
    char raw[PYTHON_NAME];
};

struct python_thread {
    uint64_t state; /* the interpreter's thread state when the frames were last read */
    uint32_t count;
    bool cut;      /* outer frames were left out */
    bool doubtful; /* a code could not be reported: nothing remembered may be used */
    uint64_t era;  /* era of the remembered frames; 0: `parts` identify their code */
    struct python_frame *remembered; /* [PYTHON_FRAMES], outermost first */
    /* The parts of the code of each of `remembered`, while code objects are not watched. */
    struct python_parts *parts;
    uint64_t *fresh;              /* [PYTHON_FRAMES], innermost first */
    struct python_merged *merged; /* one for each of `remembered` */
    /* For each of `remembered`, from the last merge: address of the loop's record. */
    uint64_t *loops;
    uint32_t *natives; /* likewise: number of native frames before that record */
    /* [WALK_FRAMES], by index of a native frame: the merged stack up to each native frame that the
     * innermost Python frame called, from the last merge. Valid up to tail_end. */
    struct python_tail *tail;
    uint32_t tail_caller; /* stack of the innermost Python frame in `tail`; 0: no Python frame */
    uint32_t tail_end;    /* the end of the valid entries of `tail` */
    struct python_name name;
    uint16_t index[PYTHON_INDEXES]; /* index in `remembered`, by address of a frame */
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
    /* _PyEval_EvalFrameDefault, for versions whose frames do not show its calls. */
    uint64_t loop, loop_size;
    /* The file of the interpreter; 0: the file also contains other code. */
    uint64_t image, image_size;
    void *(*thread_state)(void);
    /* State of the thread that holds the lock; NULL: none, or another thread. */
    void *(*current_state)(void);
    void *(*first_interpreter)(void); /* up to 3.11, for subinterpreters */
    void *(*main_interpreter)(void);
    uint64_t map_arena;          /* the interpreter's function that maps arenas; 0: not known */
    struct python_tables tables; /* functions that replace its allocators */
    /* Addresses in the runtime (python_layout.h); 0: call the interpreter instead. */
    _Atomic uint64_t interpreters, key;
    _Atomic bool proven;       /* the layout was checked in this process and is right */
    _Atomic bool names_proven; /* the layout of attributes was checked and is right */
    _Atomic bool ends;         /* the collector was told that the interpreter ends */
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

/* The state of the thread that finalises the interpreter; 0: no thread does. */
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
 * From here to python_leave() the interpreter is not unloaded; false: there is no interpreter that
 * can be read. python_close() sees what we store here before it waits, and we see what it has
 * stored: it makes all processors execute a fence (fence_all), so that we need none.
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
/* Finds out whether a file whose code runs is CPython. */
void python_check_file(const struct link_map *m);
/* Code was unloaded; if the interpreter is still there, it is found again. */
void python_forget(void);
/* Call it before dlclose: from then on, no thread reads the interpreter if this library is it. If
 * it returns true, call python_closed after dlclose. */
bool python_close(const void *handle);
void python_closed(void);
/* There is new shared memory: nothing has been reported in it yet. */
void python_reset(void);
void python_recover(struct thread *t); /* after the thread left a hook by longjmp, for example */
void python_begin(struct thread *t);   /* a new thread reuses the memory of an ended one */
void python_forget_accounts(struct thread *t); /* forgets the accounts of remembered stacks */
void python_give_up(enum wire_python_state why);
void python_check_loaded(void);  /* at the start: checks all loaded files, before they run */
bool python_begins_to_end(void); /* has this thread just begun to finalise it? true only once */
bool python_has_ended(void);     /* an interpreter was found, and does not run or no longer runs */
bool python_maps_arena(uint64_t pc, size_t size); /* does a call of mmap at `pc` map an arena? */
/* Wraps the allocators again, if the program has replaced them. `pc` is in the caller. */
void python_settle(uint64_t pc);
void python_find_image(void);                              /* before the layout is checked */
struct python_thread *python_thread_new(struct thread *t); /* NULL: no memory */
/* Makes a merged stack from the frames that python_known and the walk have just found. */
uint32_t python_merge(struct thread *t, uint64_t key);

/* python_arenas.c finds out how much of the interpreter's arenas is resident. */
size_t python_arena_bytes(void);
void python_arena_mapped(const void *p);
void python_arena_unmapped(const void *p); /* for any mapping; does nothing if it is no arena */
/* The bytes of arenas that are not resident; false: there are no arenas, or this is not known. */
bool python_arenas_absent(uint64_t *absent_bytes);

/* python_frames.c */
/* Does the thread run Python code? Reads its frames. */
bool python_runs(struct thread *t);
/* For a signal handler: can it read the Python frames of the thread that it has interrupted? */
bool python_stands_still(void);
/* The entry for the merged stack of the native frames that `native` identifies and the thread's
 * Python frames; NULL: there is none yet, and python_keep can add it under *key. */
struct python_pair *python_known(struct thread *t, uint64_t native, uint64_t *key);
void python_keep(struct thread *t, uint64_t key, uint32_t stack);
/* Reads the thread's name again, without an allocation. Returns false if the thread runs no Python
 * code. */
bool python_check_name(struct thread *t);

/* python_code.c */
/* Does the thread state at this address have the layout that we assume? Checks that each page is
 * mapped before it reads the page. */
bool python_prove(uint64_t state);
/* Is it the state of this thread? While an interpreter is initialised once more, the key under
 * which it keeps the states may be another's for a moment, and what is found there is anything. */
bool python_is_own(uint64_t state);
/* For a thread that a signal has interrupted: are its innermost frames complete at this moment? */
bool python_is_whole(uint64_t state);
uint32_t python_code_number(struct python_thread *p, uint64_t code, uint64_t stamp);
/* Finds the number of a code object by its address alone; false: it got no number in this era. */
bool python_code_find(const struct python_thread *p, uint64_t code, uint32_t *number);
/* The source line of the instruction at offset `byte` of a code. */
uint32_t python_code_line(struct python_thread *p, uint32_t number, uint32_t byte);
void python_code_reset(void);
void python_code_recover(void);
/* Where the characters of a str are. python_text_of returns false if they cannot be read. */
struct python_text {
    uint64_t data, length;
    uint32_t width; /* bytes of a character */
};
bool python_text_of(uint64_t object, struct python_text *out);
/* python_text_of for a str whose state and length were already read. */
bool python_text_at(uint64_t object, uint32_t state, uint64_t length, struct python_text *out);
/* Copies the text as UTF-8, `most` bytes and up to 3 more, without a NUL. Returns how many
 * bytes. */
size_t python_text_copy(const struct python_text *text, char *out, size_t most);

/* python_thread_name.c */
/* Checks the thread's Python name, after its frames were read. `now`: even if that takes long. */
void python_name(struct thread *t, bool now);
/* Is the name that the kernel has for the thread only the beginning of its Python name? */
bool python_name_is(const struct thread *t, const char *beginning);

#endif
