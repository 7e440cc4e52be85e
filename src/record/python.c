#include "record/python.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/find_export.h"
#include "record/loaded_file.h"

#define CLOSING_NAPS   10000
#define ARENA_FUNCTION 256 /* bytes of code: the interpreter's function has less */

struct python python;
static _Atomic uint32_t
    closing; /* threads that unload something, maybe it: it is not searched for now */

/* --- the interpreter -------------------------------------------------------------------------- */

/* What the executable has comes before what a library has, as for the loader. */
static uint64_t find(const struct exports x[2], const char *name, uint64_t *size)
{
    for (unsigned i = 0; i < 2; i++) {
        const ElfW(Sym) *s = exports_find(&x[i], name);
        if (s) {
            if (size)
                *size = s->st_size;
            return x[i].base + s->st_value;
        }
    }
    return 0;
}

/* A function pointer without the cast that ISO C frowns upon. */
static void find_function(const struct exports x[2], const char *name, void *slot)
{
    uint64_t address = find(x, name, NULL);
    memcpy(slot, &address, sizeof address);
}

/* "3.8.18 (default, ..." as 0x030812f0. */
static uint32_t version_of(const char *text)
{
    uint32_t part[3] = {0}, n = 0;
    for (; n < 3 && *text >= '0' && *text <= '9'; n++) {
        for (; *text >= '0' && *text <= '9'; text++)
            part[n] = part[n] * 10 + (uint32_t)(*text - '0');
        if (*text != '.')
            break;
        text++;
    }
    uint32_t level = *text == ' ' ? 0xf0 : 0xa0;
    return part[0] << 24 | (part[1] & 0xff) << 16 | (part[2] & 0xff) << 8 | level;
}

static uint32_t version(const struct exports x[2])
{
    uint64_t data = find(x, "Py_Version", NULL);
    const char *(*text)(void);
    if (data)
        return (uint32_t)python_load(data);
    find_function(x, "Py_GetVersion", &text);
    return text ? version_of(text()) : 0;
}

void python_give_up(enum wire_python_state why)
{
    atomic_store(&recorder.python, false);
    atomic_store(&recorder.header->python, why);
}

/* PyObjectArenaAllocator */
struct arena_allocator {
    void *context;
    void *(*alloc)(void *, size_t);
    void (*free)(void *, void *, size_t);
};

/* The function that maps arenas, if it is the interpreter's own; 0: it is not. */
static uint64_t arena_function(const struct exports x[2])
{
    void (*get)(struct arena_allocator *);
    struct arena_allocator now = {0};
    uint64_t function;
    find_function(x, "PyObject_GetArenaAllocator", &get);
    if (!get || !recorder_is_alone()) /* it takes a lock that another thread may just free (3.12) */
        return 0;
    get(&now);
    memcpy(&function, &now.alloc, sizeof function);
    return now.context ? 0 : function;
}

/*
 * It was asked for by the interpreter's own function for that, which is short, and has the size of
 * an arena. Where objects are blocks themselves, arenas are not.
 */
bool python_maps_arena(uint64_t pc, size_t size)
{
    return atomic_load_explicit(&recorder.python, memory_order_relaxed) &&
           size == python_arena_bytes() && pc - python.map_arena < ARENA_FUNCTION &&
           atomic_load_explicit(&recorder.header->objects, memory_order_relaxed) != WIRE_OBJECTS_ON;
}

static enum wire_python_state examine(const struct exports x[2], uint64_t runtime, uint64_t size)
{
    struct python found = {.runtime = runtime, .version = version(x)};
    atomic_store(&recorder.header->python_version, found.version);
    if (python.runtime == runtime && python.version == found.version)
        return WIRE_PYTHON_ON; /* as before: something else was unloaded, or we are a child */
    enum wire_python_state state = python_layout_find(found.version, runtime, size, &found.layout);
    if (state != WIRE_PYTHON_ON)
        return state;
    if (find(x, "_Py_NegativeRefcount", NULL))
        return WIRE_PYTHON_STRANGE; /* a debug build: some structures have more in them */
    found.code_type = find(x, "PyCode_Type", NULL);
    found.text_type = find(x, "PyUnicode_Type", NULL);
    found.bytes_type = find(x, "PyBytes_Type", NULL);
    found.dict_type = find(x, "PyDict_Type", NULL);
    find_function(x, "PyGILState_GetThisThreadState", &found.thread_state);
    find_function(x, "_PyThreadState_UncheckedGet", &found.current_state);
    if (!found.current_state)
        find_function(x, "PyThreadState_GetUnchecked", &found.current_state);
    if (!found.code_type || !found.text_type || !found.bytes_type || !found.thread_state)
        return WIRE_PYTHON_STRANGE;
    if (found.layout.chain < PYTHON_SHIMS) {
        find_function(x, "PyInterpreterState_Head", &found.first_interpreter);
        find_function(x, "PyInterpreterState_Main", &found.main_interpreter);
        if (!found.current_state || !found.first_interpreter || !found.main_interpreter)
            return WIRE_PYTHON_STRANGE;
    }
    found.loop = find(x, "_PyEval_EvalFrameDefault", &found.loop_size);
    find_function(x, "PyMem_GetAllocator", &found.tables.get);
    find_function(x, "PyMem_SetAllocator", &found.tables.set);
    find_function(x, "Py_IsInitialized", &found.tables.is_initialized);
    found.map_arena = arena_function(x);
    if (atomic_load_explicit(&recorder.frees_watched, memory_order_relaxed))
        python_objects_unwatch(); /* of another interpreter, which is gone */
    python = found;
    return WIRE_PYTHON_ON;
}

/* As reports have it (model/frames.c): python3.11, libpython3.11.so.1.0. */
static bool is_interpreters_name(const char *path)
{
    static const char digits[] = "0123456789";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncmp(name, "libpython", 9) == 0)
        return strspn(name + 9, digits) != 0;
    return strncmp(name, "python", 6) == 0 && !name[6 + strspn(name + 6, "0123456789.")];
}

/* A program that has the interpreter in itself is not nothing but an interpreter. */
void python_find_image(void)
{
    char program[512];
    struct loaded l;
    if (!python.loop || !loaded_file_find(python.loop, &l))
        return;
    const char *name = l.map->l_name;
    if (!name || !*name) {
        long n =
            sys_call(SYS_readlinkat, (long)AT_FDCWD, "/proc/self/exe", program, sizeof program - 1);
        program[n > 0 ? n : 0] = '\0';
        name = program;
    }
    if (is_interpreters_name(name)) {
        python.image = l.start;
        python.image_size = l.end - l.start;
    }
}

/*
 * What was told to replace the allocators (PYTHONMALLOC, -X dev) does so before the first frame; a
 * runtime that is started again (3.12) forgets them. In between nobody looks.
 */
static void settle(void)
{
    const struct python_tables *tables = &python.tables;
    if (!tables->get || !tables->set || !tables->is_initialized ||
        !python_objects_wrap(tables, python.code_type)) {
        atomic_store(&recorder.header->objects, WIRE_OBJECTS_REFUSED);
        atomic_store(&recorder.objects_unsettled, false);
        return;
    }
    atomic_store(&recorder.header->objects, WIRE_OBJECTS_ON);
    /* Proven by an interpreter that ended: the next one may still be told to. */
    if (atomic_load_explicit(&python.proven, memory_order_relaxed) && tables->is_initialized())
        atomic_store(&recorder.objects_unsettled, false);
}

/*
 * CPython guards its tables with a lock, which it frees when it ends (3.12). A thread that has
 * nothing to do with Python could wait for that lock just then. So only the interpreter's own calls
 * of malloc lead here, and of these none of an interpreter that ends.
 */
void python_settle(uint64_t pc)
{
    const struct link_map *caller = loaded_file_map((const void *)pc);
    bool own = recorder_is_alone() ||
               (caller && python.loop && caller == loaded_file_map((const void *)python.loop));
    if (own && !python_finalizer())
        settle();
}

static const struct link_map *first_file(const struct link_map *m)
{
    while (m->l_prev)
        m = m->l_prev;
    return m;
}

/* For leak scans, which need nothing else of the interpreter. */
static void note_int_type(const struct link_map *m)
{
    struct exports x[2];
    _Atomic uint64_t *type = &recorder.header->python_int_type;
    if (atomic_load(type) || atomic_load(&closing))
        return;
    exports_read(&x[1], m);
    if (!exports_find(&x[1], "PyLong_Type"))
        return;
    exports_read(&x[0], first_file(m)); /* it may have the only copy that is used */
    atomic_store(type, find(x, "PyLong_Type", NULL));
}

/* Under modules.c's lock. */
void python_check_file(const struct link_map *m)
{
    struct exports x[2];
    _Atomic uint32_t *state = &recorder.header->python;
    note_int_type(m);
    if (!recorder.python_size || atomic_load(&recorder.python) || atomic_load(&closing) ||
        atomic_load(state) == WIRE_PYTHON_STRANGE)
        return;
    exports_read(&x[1], m);
    const ElfW(Sym) *runtime = exports_find(&x[1], "_PyRuntime");
    if (!runtime) {
        if (exports_find(&x[1], "pypy_execute_source")) {
            atomic_store(state, WIRE_PYTHON_PYPY);
        } else if (exports_find(&x[1], "Py_GetVersion") && exports_find(&x[1], "Py_Main")) {
            x[0] = x[1]; /* up to 3.6 */
            atomic_store(&recorder.header->python_version, version(x));
            atomic_store(state, WIRE_PYTHON_VERSION);
        }
        return;
    }
    exports_read(&x[0], first_file(m));
    bool known_before = python.runtime == x[1].base + runtime->st_value;
    uint32_t result = examine(x, x[1].base + runtime->st_value, runtime->st_size);
    if (atomic_load(state) != WIRE_PYTHON_FULL)
        atomic_store(state, result);
    if (result == WIRE_PYTHON_ON)
        atomic_store(&recorder.header->python_finalizing,
                     python.runtime + python.layout.runtime_finalizing);
    if (result == WIRE_PYTHON_ON && recorder.header->objects_wanted) {
        atomic_store(&recorder.objects_unsettled, true);
        if ((!known_before || recorder_is_alone()) && !python_finalizer())
            settle();
    }
    atomic_store_explicit(&recorder.python, result == WIRE_PYTHON_ON, memory_order_release);
}

void python_check_loaded(void)
{
    if (recorder.header && recorder.header->objects_wanted)
        for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
            modules_check_python(m);
}

void python_forget(void)
{
    atomic_store(&recorder.python, false);
}

/*
 * To ask it something beside an event; NULL: not now. The thread is busy meanwhile, as in a hook: a
 * handler may leave this by longjmp. Nothing is begun for it: a child calls sigaction before it
 * executes another program.
 */
static inline __attribute__((always_inline)) struct thread *ask_enter(void)
{
    struct thread *t = tls.thread;
    if (!t || tls.busy || !atomic_load_explicit(&recorder.python, memory_order_relaxed))
        return NULL;
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    atomic_signal_fence(memory_order_seq_cst);
    if (python_enter(t))
        return t;
    thread_leave();
    return NULL;
}

static void ask_leave(struct thread *t)
{
    python_leave(t);
    atomic_signal_fence(memory_order_seq_cst);
    thread_leave();
}

bool python_has_ended(void)
{
    struct thread *t = ask_enter();
    if (!t)
        return false;
    bool ended = python.tables.is_initialized && !python.tables.is_initialized();
    ask_leave(t);
    return ended;
}

/* --- its library may be unloaded -------------------------------------------------------------- */

/* Every processor has seen that recorder.python is false, and we see who had not before. */
static bool fence_all(void)
{
    return sys_call(SYS_membarrier, (long)MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0L, 0L) == 0 &&
           sys_call(SYS_membarrier, (long)MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0L, 0L) == 0;
}

static bool is_in(const void *handle)
{
    return atomic_load(&recorder.python) &&
           loaded_file_map((void *)(uintptr_t)python.runtime) == handle;
}

/*
 * Others that read it have not long to go, unless they were torn out of it for good: so there is an
 * end to waiting. Without the kernel's help they may not have said yet that they do: a while is
 * enough for that.
 */
bool python_close(const void *handle)
{
    if (thread_enter()) /* so that it has a state, and can ask */
        thread_leave();
    if (!python_has_ended() && !is_in(handle))
        return false;
    tls.closing++;
    atomic_fetch_add(&closing, 1);
    python_forget();
    if (!atomic_load(&recorder.several))
        return true;
    unsigned naps = fence_all() ? 0 : 10;
    for (unsigned i = 0; i < naps || (i < CLOSING_NAPS && threads_in_python()); i++)
        sys_nap();
    return true;
}

void python_closed(void)
{
    tls.closing--;
    atomic_fetch_sub(&closing, 1);
}

/* --- its end ---------------------------------------------------------------------------------- */

bool python_begins_to_end(void)
{
    struct thread *t = ask_enter();
    if (!t)
        return false;
    uint64_t state = python_finalizer();
    if (!state) /* it may begin anew */
        atomic_store_explicit(&python.ends, false, memory_order_relaxed);
    bool begins = state && atomic_load(&recorder.state) == STATE_LIVE &&
                  state == (uint64_t)(uintptr_t)python.thread_state() &&
                  !atomic_exchange(&python.ends, true);
    ask_leave(t);
    return begins;
}

void python_reset(void)
{
    python_forget();
    python_code_reset();
    atomic_store(&closing, tls.closing); /* a child has no other threads */
}

/* What was being written may be half of it. */
void python_recover(struct thread *t)
{
    struct python_thread *p = t->python;
    python_leave(t);
    if (p) {
        p->count = p->tail_end = 0;
        memset(p->codes, 0, sizeof p->codes);
        memset(p->pairs, 0, sizeof p->pairs);
        memset(p->lines, 0, sizeof p->lines);
        memset(p->readings, 0, sizeof p->readings);
        memset(&p->name, 0, sizeof p->name);
    }
    python_code_recover();
}

/* --- the thread ------------------------------------------------------------------------------- */

static size_t rounded(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

/* Not for forked children: they begin with nothing, as the thread itself does. */
struct python_thread *python_thread_new(struct thread *t)
{
    size_t frames = PYTHON_FRAMES * sizeof(struct python_frame);
    size_t parts = PYTHON_FRAMES * sizeof(struct python_parts);
    size_t size =
        rounded(sizeof(struct python_thread)) + frames + parts +
        PYTHON_FRAMES * (sizeof(struct python_merged) + 2 * sizeof(uint64_t) + sizeof(uint32_t)) +
        WALK_FRAMES * sizeof(struct python_tail);
    struct python_thread *p = sys_map(size);
    if (!p)
        return NULL;
    sys_call(SYS_madvise, p, size, (long)MADV_DONTFORK);
    p->remembered = (void *)((char *)p + rounded(sizeof *p));
    p->parts = (void *)((char *)p->remembered + frames);
    p->fresh = (void *)((char *)p->parts + parts);
    p->loops = p->fresh + PYTHON_FRAMES;
    p->merged = (void *)(p->loops + PYTHON_FRAMES);
    p->tail = (void *)(p->merged + PYTHON_FRAMES);
    p->natives = (void *)(p->tail + WALK_FRAMES);
    wire_own_set(&t->ring->own[1], (uintptr_t)p, size);
    return t->python = p;
}

void python_begin(struct thread *t)
{
    python_leave(t);
    if (t->python) {
        t->python->count = t->python->tail_end = 0;
        t->python->name = (struct python_name){0};
    }
}

void python_forget_accounts(struct thread *t)
{
    for (uint32_t i = 0; t->python && i < PYTHON_PAIRS; i++)
        if (t->python->pairs[i].account)
            t->python->pairs[i].account = 0;
}
