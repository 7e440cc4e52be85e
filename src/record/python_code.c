/*
 * Code objects by number. When one is seen for the first time, its names and its line table are
 * copied to where the collector reads them. Equal ones share a number, so a program that compiles
 * the same text again and again reports nothing new. A lock is taken only then.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "record/libc.h"
#include "record/python.h"
#include "record/python_lines.h"

#define KNOWN_FIRST (1u << 10)
#define KNOWN_MOST  (1u << 20)
#define KNOWN_BYTES (2 * KNOWN_MOST * sizeof *known)
#define TEXT_MOST   4096
#define RESERVE     65536u /* never used up, so that a record can be made to find an equal one */
#define TABLE_MOST  (1u << 20)
#define TABLE_SMALL 512 /* bytes, which are soon read */
#define PROVEN_BY   64  /* frames */
#define WHOLE_BY    8   /* frames: an interpreter writes to the innermost one or two */

/* A hash table of so many entries begins at known[known_size], so that the next larger one begins
 * where it ends. */
static struct {
    uint64_t hash; /* of a record; 0: nothing here */
    uint32_t number;
} * known;
static uint32_t known_size = KNOWN_FIRST, known_count;
static uint32_t nameless; /* the code that stands for those without room */
static struct spin lock;

void python_code_reset(void)
{
    if (known) /* zeroes it */
        sys_call(SYS_madvise, known, (long)KNOWN_BYTES, (long)MADV_DONTNEED);
    known_size = KNOWN_FIRST;
    known_count = nameless = 0;
    spin_reset(&lock);
}

void python_code_recover(void)
{
    spin_recover(&lock);
}

/* --- is the layout right? --------------------------------------------------------------------- */

static bool careful_load(uint64_t address, uint64_t *out)
{
    if (!python_is_pointer(address) || !own_space.readable(&own_space, address))
        return false;
    *out = python_load(address);
    return true;
}

static bool has_type(uint64_t object, uint64_t type)
{
    uint64_t found;
    return careful_load(object + PYTHON_TYPE, &found) && found == type;
}

static bool member_has_type(uint64_t object, uint16_t offset, uint64_t type)
{
    uint64_t member;
    return careful_load(object + offset, &member) && has_type(member, type);
}

static bool is_code(uint64_t code)
{
    const struct python_layout *l = &python.layout;
    return has_type(code, python.code_type) &&
           member_has_type(code, l->code_file, python.text_type) &&
           member_has_type(code, l->code_name, python.text_type) &&
           member_has_type(code, l->code_qualified, python.text_type) &&
           member_has_type(code, l->code_lines, python.bytes_type);
}

static bool is_at(uint64_t code, uint64_t at)
{
    const struct python_layout *l = &python.layout;
    return !l->code_instructions || at - (code + l->code_instructions - 2) < UINT64_C(1) << 32;
}

/* Up to 3.11 the runtime is asked for two things at every event, by functions that only read it: if
 * they return what is in the places that we know, these are read directly from then on. */
static void prove_runtime(uint64_t state)
{
    uint64_t interpreters = python.runtime + python.layout.runtime_interpreters;
    uint64_t first = (uint64_t)(uintptr_t)python.main_interpreter();
    if (python_load(interpreters) == (uint64_t)(uintptr_t)python.first_interpreter() &&
        python_load(interpreters + 8) == first)
        atomic_store_explicit(&python.interpreters, interpreters, memory_order_relaxed);
    uint64_t place = python.runtime + python.layout.runtime_key, key = python_load(place);
    if (python_load(place - 8) == first && (uint32_t)key == 1 && libc.getspecific &&
        (uint64_t)(uintptr_t)libc.getspecific((pthread_key_t)(key >> 32)) == state)
        atomic_store_explicit(&python.key, place, memory_order_relaxed);
}

/* Are the innermost `most` frames as the layout says? *seen: how many are functions' frames. */
static bool frames_hold(uint64_t state, unsigned most, unsigned *seen)
{
    const struct python_layout *l = &python.layout;
    uint64_t frame, cframe, owner, code, at;
    *seen = 0;
    if (l->thread_frame ? !careful_load(state + l->thread_frame, &frame)
                        : !careful_load(state + l->thread_cframe, &cframe) ||
                              !careful_load(cframe + l->cframe_frame, &frame))
        return false;
    for (unsigned i = 0; frame && i < most; i++) {
        bool shim = false;
        if (l->chain == PYTHON_SHIMS) {
            if (!careful_load(frame + (l->frame_owner & ~7u), &owner))
                return false;
            shim = (uint8_t)(owner >> l->frame_owner % 8 * 8) >= PYTHON_OWNED_BY_C;
        }
        if (!shim) {
            if (!careful_load(frame + l->frame_code, &code) || !is_code(PYTHON_REFERENCE(code)) ||
                !careful_load(frame + l->frame_at, &at) || !is_at(PYTHON_REFERENCE(code), at))
                return false;
            ++*seen;
        }
        if (!careful_load(frame + l->frame_previous, &frame))
            return false;
    }
    return true;
}

bool python_is_own(uint64_t state)
{
    uint64_t thread;
    if (state == (uint64_t)(uintptr_t)tls.thread) /* found under key 0, which may be ours */
        return false;
    if (atomic_load_explicit(&recorder.confined, memory_order_relaxed))
        return true; /* the kernel must not be asked */
    if (careful_load(state + python.layout.thread_id, &thread) &&
        thread == (uint64_t)pthread_self())
        return true;
    /* An embedding program may have made it for another thread, and hands it on. */
    return python.current_state && (uint64_t)(uintptr_t)python.current_state() == state;
}

bool python_is_whole(uint64_t state)
{
    unsigned seen;
    return frames_hold(state, WHOLE_BY, &seen);
}

bool python_prove(uint64_t state)
{
    const struct python_layout *l = &python.layout;
    unsigned seen;
    if (atomic_load_explicit(&recorder.confined, memory_order_relaxed))
        return false; /* the kernel must not be asked */
    bool strange = !frames_hold(state, PROVEN_BY, &seen);
    if (seen && !strange && l->runtime_key)
        prove_runtime(state);
    if (seen && !strange)
        python_find_image();
    if (strange)
        python_give_up(WIRE_PYTHON_STRANGE);
    else if (seen && !atomic_exchange(&python.proven, true) && !recorder.header->objects_wanted &&
             l->chain < PYTHON_SHIMS && python.tables.get) /* later ones take a lock to say */
        python_objects_watch(&python.tables, python.code_type);
    return seen && !strange;
}

/* --- reporting to the collector --------------------------------------------------------------- */

static uint64_t hash_of(const void *bytes, size_t size)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

/* Room at the end to make a record of so many bytes; NULL: none. */
static void *tail(size_t size)
{
    uint32_t used = atomic_load_explicit(&recorder.header->python_used, memory_order_relaxed);
    if (used < 8 || used % 8 || used > recorder.python_size ||
        recorder.python_size - used < size + 8)
        return NULL;
    return recorder.python_memory + used;
}

/* The entry of a record in the table of this size, or where it belongs. */
static uint32_t known_place(uint64_t hash, uint32_t table_size)
{
    uint32_t i = (uint32_t)(hash >> 40) & (table_size - 1);
    while (known[table_size + i].hash && known[table_size + i].hash != hash)
        i = (i + 1) & (table_size - 1);
    return table_size + i;
}

/* If the thread leaves its hook meanwhile, this is done again. */
static void known_grow(void)
{
    uint32_t old = known_size;
    for (uint32_t i = old; i < 2 * old; i++)
        if (known[i].hash)
            known[known_place(known[i].hash, 2 * old)] = known[i];
    known_size = 2 * old;
    sys_call(SYS_madvise, known + old, (long)(old * sizeof *known), (long)MADV_DONTNEED);
}

/* The number of the record just made at the tail, or of an equal one; 0: no room for another. */
static uint32_t keep(const void *record, size_t size)
{
    uint64_t hash = hash_of(record, size);
    if (known_count >= known_size / 2 && known_size < KNOWN_MOST)
        known_grow();
    uint32_t i = known_place(hash, known_size);
    if (known[i].hash)
        return known[i].number;
    uint64_t offset = (uint64_t)((const char *)record - recorder.python_memory);
    if (known_count >= known_size / 2 || offset + size + RESERVE > recorder.python_size)
        return 0;
    known[i].number = (uint32_t)(offset / 8);
    known[i].hash = hash;
    known_count++;
    /* Pairs with the collector's acquire: it sees the record before the position. */
    atomic_store_explicit(&recorder.header->python_used,
                          (uint32_t)((offset + size + 7) & ~UINT64_C(7)), memory_order_release);
    return (uint32_t)(offset / 8);
}

static size_t put_character(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c >= 0xdc80 && c < 0xdd00) { /* a byte of a file name that was no UTF-8 */
        out[0] = (char)(c & 0xff);
        return 1;
    }
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static uint32_t character_at(uint64_t data, unsigned width, uint64_t i)
{
    const volatile void *p = (const void *)(uintptr_t)data;
    return width == 1   ? ((const volatile uint8_t *)p)[i]
           : width == 2 ? ((const volatile uint16_t *)p)[i]
                        : ((const volatile uint32_t *)p)[i];
}

bool python_text_at(uint64_t object, uint32_t state, uint64_t length, struct python_text *out)
{
    bool compact = PYTHON_TEXT_COMPACT(state), ascii = PYTHON_TEXT_ASCII(state);
    *out = (struct python_text){
        .data = object + (ascii ? python.layout.text_ascii : python.layout.text_compact),
        .length = length,
        .width = PYTHON_TEXT_WIDTH(state)};
    return compact && (out->width == 1 || out->width == 2 || out->width == 4);
}

bool python_text_of(uint64_t object, struct python_text *out)
{
    return python_is_pointer(object) && python_load(object + PYTHON_TYPE) == python.text_type &&
           python_text_at(object, python_load_half(object + PYTHON_STATE),
                          python_load(object + PYTHON_SIZE), out);
}

size_t python_text_copy(const struct python_text *text, char *out, size_t most)
{
    size_t size = 0;
    for (uint64_t i = 0; i < text->length && size < most; i++)
        size += put_character(out + size, character_at(text->data, text->width, i));
    return size;
}

/* The number of a str's text; 0: no room. */
static uint32_t tell_text(uint64_t object)
{
    struct wire_text *r = tail(sizeof *r + TEXT_MOST + 4);
    if (!r)
        return 0;
    char *out = (char *)(r + 1);
    struct python_text text;
    size_t size = 1;
    if (python_text_of(object, &text))
        size = python_text_copy(&text, out, TEXT_MOST);
    else
        out[0] = '?'; /* a subclass of str, say */
    *r = (struct wire_text){.kind = WIRE_PYTHON_TEXT, .size = (uint32_t)size};
    return keep(r, sizeof *r + size);
}

static uint32_t tell_code(uint32_t file, uint32_t name, uint32_t first_line, uint64_t table)
{
    uint64_t size = table ? python_load(table + PYTHON_SIZE) : 0;
    if (size > TABLE_MOST)
        size = 0; /* all of it reads as the first line */
    struct wire_code *r = name ? tail(sizeof *r + size) : NULL;
    if (!r)
        return 0;
    *r = (struct wire_code){.kind = WIRE_PYTHON_CODE,
                            .size = (uint32_t)size,
                            .file = file,
                            .name = name,
                            .first_line = first_line,
                            .lines = python.layout.lines};
    if (size)
        memcpy(r + 1, (const void *)(uintptr_t)(table + PYTHON_BYTES), size);
    return keep(r, sizeof *r + size);
}

/* While there is room. */
static uint32_t tell_nameless(void)
{
    static const char name[] = "[Python code not recorded]";
    struct wire_text *r = tail(sizeof *r + sizeof name);
    if (!r)
        return 0;
    *r = (struct wire_text){.kind = WIRE_PYTHON_TEXT, .size = sizeof name - 1};
    memcpy(r + 1, name, sizeof name - 1);
    return tell_code(0, keep(r, sizeof *r + sizeof name - 1), 0, 0);
}

static uint32_t tell(uint64_t code)
{
    const struct python_layout *l = &python.layout;
    if (python_load(code + PYTHON_TYPE) != python.code_type ||
        !python_load_half(code + PYTHON_REFERENCES))
        return 0;
    uint64_t file = python_load(code + l->code_file), name = python_load(code + l->code_name);
    uint64_t table = python_load(code + l->code_lines);
    uint32_t first_line = python_load_half(code + l->code_first_line);
    if (file == name && !first_line)
        /* The code that calls __init__ inside the interpreter, which no traceback shows. */
        return 0;
    if (python_load(table + PYTHON_TYPE) != python.bytes_type)
        table = 0;
    if (!nameless)
        nameless = tell_nameless();
    uint32_t number = tell_code(tell_text(file), tell_text(python_load(code + l->code_qualified)),
                                first_line, table);
    if (!number)
        atomic_store_explicit(&recorder.header->python, WIRE_PYTHON_FULL, memory_order_relaxed);
    return number ? number : nameless;
}

static __attribute__((noinline)) uint32_t number_of(uint64_t code)
{
    uint32_t number = 0;
    spin_lock(&lock);
    if (!known)
        recorder_own(known = sys_map(KNOWN_BYTES), KNOWN_BYTES);
    if (known)
        number = tell(code);
    spin_unlock(&lock);
    return number;
}

/* Where reading of a large code's table stopped. */
static struct python_cursor *cursor_of(struct python_thread *p, uint32_t number)
{
    static_assert(PYTHON_CURSORS == 1 << (32 - 24), "as many bits of the hash");
    struct python_reading *r = &p->readings[number * UINT32_C(0x9e3779b9) >> 24];
    if (r->number != number)
        *r = (struct python_reading){.number = number};
    return &r->cursor;
}

/* From the copy of the table that the collector was given. */
static __attribute__((noinline)) uint32_t find_line(struct python_thread *p, uint32_t number,
                                                    uint32_t byte)
{
    const struct wire_code *c = (const void *)(recorder.python_memory + (uint64_t)number * 8);
    uint64_t end = (uint64_t)number * 8 + sizeof *c;
    if (c->lines > WIRE_LINES_LOCATIONS || end > recorder.python_size ||
        c->size > recorder.python_size - end)
        return 0; /* somebody overwrote it */
    struct python_cursor start = {0};
    return python_line_from(c->size > TABLE_SMALL ? cursor_of(p, number) : &start,
                            (enum wire_lines)c->lines, (const uint8_t *)(c + 1), c->size,
                            c->first_line, (int32_t)byte);
}

uint32_t python_code_line(struct python_thread *p, uint32_t number, uint32_t byte)
{
    uint64_t key = (uint64_t)number << 32 | byte;
    static_assert(PYTHON_LINES == 1 << (64 - 52), "as many bits of the hash");
    struct python_line_at *at = &p->lines[key * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    if (UNLIKELY(at->key != key))
        *at = (struct python_line_at){key, find_line(p, number, byte)};
    return at->line;
}

static inline uint64_t code_index(uint64_t code)
{
    static_assert(PYTHON_CODES == 1 << (64 - 52), "as many bits of the hash");
    return (code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52;
}

bool python_code_find(const struct python_thread *p, uint64_t code, uint32_t *number)
{
    const struct python_code *c = &p->codes[code_index(code)];
    *number = c->number;
    return p->era && c->era == p->era && c->code == code;
}

uint32_t python_code_number(struct python_thread *p, uint64_t code, uint64_t stamp)
{
    struct python_code *c = &p->codes[code_index(code)];
    if (!stamp)
        return 0;
    if (UNLIKELY(c->code != code || c->stamp != stamp))
        *c = (struct python_code){.code = code, .stamp = stamp, .number = number_of(code)};
    c->era = p->era;
    return c->number;
}
