/*
 * What Python calls the thread: threading.Thread's name, which the system does not know; from
 * 3.14 on CPython gives it the first 15 bytes, which do not replace it.
 *
 * The outermost frame of such a thread is Thread._bootstrap(self), so its first local variable is
 * the Thread, and alive as long as that frame is. Its attribute _name is read whenever the frames
 * are, so a rename is seen at the next allocation made in Python code; and, for threads that
 * only free, when they begin and when the tick has moved. What was found last time is found again
 * by a few loads: the same attribute at the same place, with the same text.
 *
 * Attributes belong to all threads. While this one holds the interpreter's lock (the current thread
 * state is its own) nobody else can change them, and they are simply read. Without the lock the
 * kernel copies each word, so that nothing can happen to us; and what was found counts if the
 * attribute is found to be the same object afterwards. That takes microseconds: it is done when
 * the Python code has moved on since the last time, and not more often than now and then. So it is
 * for the first thread, whose frames do not tell its Thread; the threading module does.
 *
 * Where an instance keeps its attributes differs from version to version; the first time in a
 * process every word is asked for before it is read. A Thread whose attributes are not where they
 * should be (a base class written in C, say) keeps the name that the system has for it. It is tried
 * again all the same: a dict that grows frees the old place before the new one is in order.
 */
#include <string.h>
#include <sys/uio.h>

#include "record/python.h"

#define KEYS_MOST 65536
/* Slow checks of the name: this many, and one more for so many allocations. */
#define SLOW_FREE   32
#define SLOW_APART  64
#define SKIP_LEAST  8     /* and up to 7 more: allocations of the first thread without a check */
#define ASKED_APART 65536 /* while the layout is not proven: each word is asked for */
#define MISSES_FREE 16    /* in a row; then a check is slow too */

/* Attributes by number: their names, and their values if those are not beside the names. */
struct attributes {
    uint64_t keys, values;
    struct python_words path; /* while these hold, they are there */
};

/* How words are read: with the lock, with it but the layout is not proven, without it. */
enum reading { READ_PLAIN, READ_ASKED, READ_COPIED };

/* By the kernel: fails where there is nothing. */
static bool copy(uint64_t address, void *out, size_t size)
{
    struct iovec here = {.iov_base = out, .iov_len = size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    return sys_call(SYS_process_vm_readv, (long)recorder.pid, &here, 1L, &there, 1L, 0L) ==
           (long)size;
}

static bool load(uint64_t address, enum reading how, uint64_t *out)
{
    if (!python_is_pointer(address))
        return false;
    if (UNLIKELY(how == READ_COPIED))
        return copy(address, out, sizeof *out);
    if (UNLIKELY(how == READ_ASKED) && !own_space.readable(&own_space, address))
        return false;
    *out = python_load(address);
    return true;
}

static bool follow(uint64_t address, enum reading how, struct python_words *path, uint64_t *out)
{
    if (!load(address, how, out))
        return false;
    path->address[path->count] = address;
    path->content[path->count++] = *out;
    return true;
}

static bool of_dict(uint64_t dict, enum reading how, struct attributes *a)
{
    uint64_t type;
    if (!load(dict + PYTHON_TYPE, how, &type) || type != python.dict_type ||
        !follow(dict + PYTHON_DICT_KEYS, how, &a->path, &a->keys) ||
        !follow(dict + PYTHON_DICT_VALUES, how, &a->path, &a->values))
        return false;
    if (a->values)
        a->values += python.layout.values_head;
    return true;
}

/* Values that the type knows the names of. */
static bool of_type(uint64_t type, uint64_t values, enum reading how, struct attributes *a)
{
    a->values = values;
    return load(type + python.layout.type_keys, how, &a->keys);
}

static bool attributes_of(uint64_t object, enum reading how, struct attributes *a)
{
    const struct python_layout *l = &python.layout;
    uint64_t type, flags, offset, size, word;
    a->path.count = 0;
    if (!load(object + PYTHON_TYPE, how, &type) || !load(type + PYTHON_TYPE_FLAGS, how, &flags))
        return false;
    if (l->attributes == PYTHON_IN_DICT || !(flags & PYTHON_MANAGED_DICT))
        return load(type + PYTHON_TYPE_DICT_OFFSET, how, &offset) && offset - 16 < 4096 &&
               follow(object + offset, how, &a->path, &word) && of_dict(word, how, a);
    switch (l->attributes) {
    case PYTHON_VALUES_OR_DICT:
        if (!follow(object - PYTHON_VALUES_BEFORE, how, &a->path, &word))
            return false;
        if (word)
            return of_type(type, word, how, a);
        break;
    case PYTHON_VALUES_TAGGED:
        if (!follow(object - PYTHON_DICT_BEFORE, how, &a->path, &word))
            return false;
        if (word & 1)
            return of_type(type, word + 1, how, a);
        break;
    case PYTHON_VALUES_INLINE:
        if (!(flags & PYTHON_INLINE_VALUES))
            break;
        if (!load(type + PYTHON_TYPE_BASIC_SIZE, how, &size) || size > 65536 ||
            !follow(object + size, how, &a->path, &word))
            return false;
        if (PYTHON_VALUES_VALID(word))
            return of_type(type, object + size + l->values_head, how, a);
        break;
    default:
        return false;
    }
    return follow(object - PYTHON_DICT_BEFORE, how, &a->path, &word) && of_dict(word, how, a);
}

/* The entries of a dict's keys: how many, where, and how far apart; false: no keys. */
struct entries {
    uint64_t count, start, stride, key; /* key: where it is in an entry; its value follows */
};

static bool entries_of(uint64_t keys, enum reading how, struct entries *e)
{
    uint64_t word;
    bool compact = python.layout.type_keys != 0; /* from 3.11 on */
    if (!load(keys + PYTHON_KEYS_SIZE, how, &word) ||
        !load(keys + (compact ? PYTHON_COMPACT_COUNT : PYTHON_KEYS_COUNT), how, &e->count) ||
        e->count > KEYS_MOST)
        return false;
    *e = (struct entries){.count = e->count, .stride = 24, .key = 8};
    if (!compact) {
        if (word > UINT32_MAX)
            return false;
        e->start = keys + PYTHON_KEYS_INDEX + word * (word <= 0xff ? 1 : word <= 0xffff ? 2 : 4);
        return true;
    }
    if (PYTHON_COMPACT_INDEX_BITS(word) > 32)
        return false;
    e->start = keys + PYTHON_COMPACT_INDEX + (UINT64_C(1) << PYTHON_COMPACT_INDEX_BITS(word));
    if (PYTHON_COMPACT_HASHLESS(word)) {
        e->stride = 16;
        e->key = 0;
    }
    return true;
}

static bool is_word(uint64_t key, const char *word, enum reading how)
{
    uint64_t type, size = strlen(word), length, state, text, wanted;
    if (!load(key + PYTHON_TYPE, how, &type) || type != python.text_type ||
        !load(key + PYTHON_SIZE, how, &length) || length != size ||
        !load(key + PYTHON_STATE, how, &state) || !PYTHON_TEXT_COMPACT(state) ||
        !PYTHON_TEXT_ASCII(state))
        return false;
    for (uint64_t i = 0; i < size; i += 8) { /* a NUL follows, and objects are whole words */
        size_t rest = size - i < 8 ? size - i : 8;
        wanted = 0;
        memcpy(&wanted, word + i, rest);
        if (!load(key + python.layout.text_ascii + i, how, &text) ||
            (text << (64 - rest * 8)) != (wanted << (64 - rest * 8)))
            return false;
    }
    return true;
}

/* Where the value of that name is; 0: there is none. */
static uint64_t value_of(const struct attributes *a, const char *word,
                         struct python_dict_entry *known, enum reading how)
{
    struct entries e;
    uint64_t key;
    if (!entries_of(a->keys, how, &e))
        return 0;
    if (known->index >= e.count || !load(e.start + known->index * e.stride + e.key, how, &key) ||
        key != known->key) {
        uint32_t i = 0;
        while (i < e.count &&
               (!load(e.start + i * e.stride + e.key, how, &key) || !is_word(key, word, how)))
            i++;
        if (i == e.count)
            return 0;
        *known = (struct python_dict_entry){.key = key, .index = i};
    }
    return a->values ? a->values + known->index * 8 : e.start + known->index * e.stride + e.key + 8;
}

/* The str that is the Thread's name; 0: it has none. */
static uint64_t find_name(struct python_name *n, enum reading how)
{
    struct attributes a;
    uint64_t type, value;
    n->slot = 0;
    uint64_t slot = attributes_of(n->object, how, &a) ? value_of(&a, "_name", &n->name, how) : 0;
    if (!load(slot, how, &value) || !load(value + PYTHON_TYPE, how, &type) ||
        type != python.text_type)
        return 0;
    n->slot = slot;
    n->path = a.path;
    return value;
}

/* Is it where it was, and the same? Only with the lock, of a Thread whose name was read before. */
static bool is_as_before(const struct python_name *n)
{
    if (!n->slot)
        return false;
    for (unsigned i = 0; i < n->path.count; i++) /* outermost first: each says that the next is */
        if (python_load(n->path.address[i]) != n->path.content[i])
            return false;
    return python_load(n->slot) == n->text &&
           python_load_half(n->text + PYTHON_STATE) == n->state &&
           python_load(n->text + PYTHON_SIZE) == n->length &&
           memcmp(n->raw, (const void *)(uintptr_t)n->data, n->size) == 0;
}

/*
 * The first thread's Thread: sys.modules["threading"]._main_thread. It is looked for anew each
 * time, as it is not this thread's frames that keep it alive. 0: there is none.
 */
static uint64_t find_main(struct python_name *n, uint64_t state, enum reading how)
{
    const struct python_layout *l = &python.layout;
    struct attributes modules = {0}, globals = {0};
    uint64_t interpreter, dict, module, object;
    if (python_load(python.runtime + l->runtime_finalizing))
        return 0; /* modules are being taken apart */
    if (!load(state + l->thread_interpreter, how, &interpreter) ||
        !load(interpreter + l->interpreter_modules, how, &dict) || !of_dict(dict, how, &modules))
        return 0;
    return load(value_of(&modules, "threading", &n->module, how), how, &module) &&
                   load(module + PYTHON_MODULE_DICT, how, &dict) && of_dict(dict, how, &globals) &&
                   load(value_of(&globals, "_main_thread", &n->main, how), how, &object)
               ? object
               : 0;
}

/* The name's text, as much as counts, in `raw`; false: not to be read. */
static bool read_name(struct python_name *n, enum reading how, char raw[PYTHON_NAME],
                      struct python_text *text)
{
    uint64_t object = find_name(n, how), state;
    if (!object || !load(object + PYTHON_STATE, how, &state) ||
        !load(object + PYTHON_SIZE, how, &n->length) ||
        !python_text_at(object, (uint32_t)state, n->length, text))
        return false;
    uint64_t most = PYTHON_NAME / text->width;
    text->length = n->length < most ? n->length : most;
    size_t size = text->length * text->width;
    if (how != READ_COPIED)
        memcpy(raw, (const void *)(uintptr_t)text->data, size);
    else if (!copy(text->data, raw, size) || find_name(n, how) != object)
        return false;
    n->text = object;
    n->state = (uint32_t)state;
    n->data = text->data;
    text->data = (uint64_t)(uintptr_t)raw;
    return true;
}

/* Reads the name, and reports it to the collector if it is another than last time. false: it was
 * not where it should be. */
static __attribute__((noinline)) bool check(struct thread *t, struct python_name *n,
                                            enum reading how)
{
    char raw[PYTHON_NAME], name[THREAD_NAME_SIZE + 1] = {0};
    struct python_text text;
    if (!read_name(n, how, raw, &text)) {
        n->slot = 0;
        return false;
    }
    size_t size = text.length * text.width;
    if (n->size == size && n->width == text.width && memcmp(n->raw, raw, size) == 0)
        return true;
    memcpy(n->raw, raw, size);
    n->size = (uint32_t)size;
    n->width = text.width;
    python_text_copy(&text, name, THREAD_NAME_SIZE - 4);
    if (t->named || !name[0])
        return true;
    bool as_ever = t->tid == recorder.pid && strcmp(name, "MainThread") == 0;
    if (!as_ever || t->python_named)
        thread_named(t, as_ever ? "main" : name);
    t->python_named = !as_ever || t->python_named;
    return true;
}

static bool text_ends(uint64_t object, const char *end)
{
    struct python_text text;
    size_t size = strlen(end);
    return python_text_of(object, &text) && text.width == 1 && text.length >= size &&
           memcmp((const void *)(uintptr_t)(text.data + text.length - size), end, size) == 0;
}

/* The Thread whose outermost frame this is; 0: it is another frame. */
static uint64_t thread_of(const struct python_frame *f)
{
    const struct python_layout *l = &python.layout;
    if (!f->number || !text_ends(python_load(f->code + l->code_name), "_bootstrap") ||
        !text_ends(python_load(f->code + l->code_file), "threading.py"))
        return 0;
    uint64_t object = PYTHON_REFERENCE(python_load(f->frame + l->frame_locals));
    return python_is_pointer(object) ? object : 0;
}

/* Is it time for a slow check? */
static bool is_due(struct python_thread *p, bool proven)
{
    struct python_name *n = &p->name;
    uint64_t hash = p->remembered[p->count - 1].hash;
    n->chances++;
    if (n->innermost == hash ||
        n->slow_checks > SLOW_FREE + n->chances / (proven ? SLOW_APART : ASKED_APART))
        return false;
    n->innermost = hash;
    n->slow_checks++;
    return true;
}

void python_name(struct thread *t, bool now)
{
    struct python_thread *p = t->python;
    struct python_name *n = &p->name;
    const struct python_frame *f = &p->remembered[0];
    if (p->cut || !python.dict_type || !python.current_state)
        return;
    if (UNLIKELY(n->frame != f->frame || n->hash != f->hash ||
                 (n->object && n->object != PYTHON_REFERENCE(python_load(
                                                f->frame + python.layout.frame_locals))))) {
        n->frame = f->frame;
        n->hash = f->hash;
        n->slot = 0;
        n->object = thread_of(f);
        n->misses = 0;
    }
    bool first = !n->object && t->tid == recorder.pid,
         proven = atomic_load_explicit(&python.names_proven, memory_order_relaxed);
    if (first && !now &&
        n->slow_checks > SLOW_FREE) { /* never in step with a loop of the program */
        n->skip = SKIP_LEAST + (uint32_t)(n->chances * UINT64_C(0x9e3779b97f4a7c15) >> 61);
        n->chances += n->skip;
    }
    if (first ? !is_due(p, proven) && !now : !n->object)
        return;
    bool locked = (uint64_t)(uintptr_t)python.current_state() == p->state;
    if (locked ? is_as_before(n) : first)
        return;
    bool longer = !first && (!locked || n->misses > MISSES_FREE);
    if (longer && !is_due(p, proven) && !now)
        return;
    if ((!locked || !proven) && atomic_load_explicit(&recorder.confined, memory_order_relaxed))
        return; /* the kernel must not be asked */
    enum reading how = !locked ? READ_COPIED : proven ? READ_PLAIN : READ_ASKED;
    if (first && !(n->object = find_main(n, p->state, how)))
        return;
    bool found = check(t, n, how);
    if (locked)
        n->misses = found ? 0 : n->misses + 1;
    if (locked && !proven)
        atomic_store_explicit(&python.names_proven, found, memory_order_relaxed);
    if (first)
        n->object = 0;
    if (first || !locked)
        n->slot = 0;
}

bool python_name_is(const struct thread *t, const char *beginning)
{
    const struct python_name *n = t->python && t->python_named ? &t->python->name : NULL;
    char name[THREAD_NAME_SIZE + 1] = {0};
    if (!n || !n->size)
        return false;
    struct python_text text = {(uint64_t)(uintptr_t)n->raw, n->size / n->width, n->width};
    python_text_copy(&text, name, THREAD_NAME_SIZE - 4);
    return strncmp(name, beginning, strlen(beginning)) == 0;
}
