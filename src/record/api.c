/*
 * The functions behind include/tidemark.h, which finds them by name. A mark first advances the tick
 * and is written then: what other threads do from here on has the new tick, and belongs to the
 * interval after the mark.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "record/python.h"
#include "record/recorder.h"

EXPORT int tide_active(void);
EXPORT void tide_mark(const char *label);
EXPORT void tide_mark_value(const char *label, const char *key, double value);
EXPORT void tide_mark_values(const char *label, unsigned count, const char *const *keys,
                             const double *values);
EXPORT int tide_snapshot(const char *path);
EXPORT int tide_figures(void *heap, int restart);
EXPORT void tide_pause(void);
EXPORT void tide_resume(void);
EXPORT void tide_thread_name(const char *name);

static void put_note(struct thread *t, enum wire_note kind, uint64_t low, const uint64_t *words,
                     unsigned count, const char *text)
{
    uint64_t note[WIRE_RECORD_MAX] = {WIRE_WORD(WIRE_NOTE, kind, low & WIRE_LOW48)};
    for (unsigned i = 0; i < count; i++)
        note[1 + i] = words[i];
    if (text)
        memcpy(&note[WIRE_RECORD_MAX - WIRE_NOTE_TEXT], text, wire_label_size(text));
    if (!event_room(t, WIRE_RECORD_MAX))
        return;
    for (unsigned i = 0; i < WIRE_RECORD_MAX; i++)
        event_word(t, note[i]);
    event_publish(t);
}

/* VM, RSS and shared pages: the first three numbers of statm. Zeros where there is no /proc. */
static void read_sizes(uint64_t pages[3])
{
    char text[128] = "";
    long fd =
        sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/statm", (long)(O_RDONLY | O_CLOEXEC));
    long n = fd < 0 ? 0 : sys_call(SYS_read, fd, text, sizeof text - 1);
    if (fd >= 0)
        sys_call(SYS_close, fd);
    for (long i = 0, field = 0; i < n && field < 3; i++)
        if (text[i] >= '0' && text[i] <= '9')
            pages[field] = pages[field] * 10 + (uint64_t)(text[i] - '0');
        else
            field++;
}

/* Advances the tick: all threads will notice, this one too. */
static uint32_t move_tick(struct thread *t)
{
    uint32_t tick = wire_move_tick(recorder.header) + 1;
    thread_interval_ends(t, tick);
    return tick;
}

static void put_value(struct thread *t, uint32_t tick, const char *key, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    put_note(t, WIRE_NOTE_VALUE, tick, &word, 1, key ? key : "value");
}

/*
 * run --plant-leak: a block that nothing points to, recorded as one of the heap with all its pages
 * touched. It is mapped, not allocated, because a function whose entry is a mark may be the
 * allocator's.
 */
static __attribute__((noinline)) bool plant_leak(struct thread *t)
{
    size_t size = recorder.header->plant_leak;
    volatile char *block = recorder_paused() ? NULL : sys_map(size);
    if (!block)
        return false;
    for (size_t i = 0; i < size; i += 4096)
        block[i] = 1;
    return event_alloc_foreign(t, (void *)block, size, OWN_FRAME());
}

/* `function`: its number, if it is the entry of one (mark_on.c). `caller`: of the mark; NULL: it
 * may be the allocator. */
static uint32_t put_mark(struct thread *t, const uint64_t *caller, const char *label,
                         uint64_t function)
{
    struct rusage usage;
    uint64_t words[7] = {[6] = function};
    bool planted = UNLIKELY(recorder.header->plant_leak) && plant_leak(t);
    uint32_t tick = move_tick(t);
    words[0] = sys_monotonic_ns();
    read_sizes(words + 1);
    if (sys_call(SYS_getrusage, (long)RUSAGE_SELF, &usage) == 0) {
        words[4] = (uint64_t)usage.ru_minflt;
        words[5] = (uint64_t)usage.ru_majflt;
    }
    struct wire_held held;
    bool known = caller && allocator_ask(t, caller, &held);
    uint64_t absent;
    bool arenas = python_arenas_absent(&absent);
    put_note(t, WIRE_NOTE_MARK, tick, words, 7, label ? label : "");
    if (known)
        put_note(t, WIRE_NOTE_HELD, tick, (const uint64_t *)&held, sizeof held / 8, NULL);
    if (arenas)
        put_note(t, WIRE_NOTE_ARENAS, tick, &absent, 1, NULL);
    if (planted)
        put_value(t, tick, "planted", (double)recorder.header->plant_leak);
    return tick;
}

void note_unload(struct thread *t)
{
    put_note(t, WIRE_NOTE_UNLOAD, move_tick(t), NULL, 0, NULL);
}

void note_pool(struct thread *t, unsigned number, const char *name)
{
    put_note(t, WIRE_NOTE_POOL, number, NULL, 0, name);
}

void note_unrecorded(struct thread *t)
{
    (recorder.sample_bytes ? weighed_unrecorded : count_unrecorded)(t);
}

int tide_active(void)
{
    return atomic_load(&recorder.state) == STATE_LIVE && !recorder_paused();
}

void tide_mark(const char *label)
{
    struct thread *t = thread_enter();
    if (t) {
        put_mark(t, OWN_FRAME(), label, 0);
        thread_leave();
    }
}

void mark_function(uint64_t number, bool near_allocator)
{
    struct thread *t = thread_enter();
    if (t) {
        put_mark(t, near_allocator ? NULL : OWN_FRAME(), NULL, number);
        thread_leave();
    }
}

void tide_mark_value(const char *label, const char *key, double value)
{
    struct thread *t = thread_enter();
    if (t) {
        put_value(t, put_mark(t, OWN_FRAME(), label, 0), key, value);
        thread_leave();
    }
}

void tide_mark_values(const char *label, unsigned count, const char *const *keys,
                      const double *values)
{
    struct thread *t = thread_enter();
    if (t) {
        uint32_t tick = put_mark(t, OWN_FRAME(), label, 0);
        for (unsigned i = 0; i < count; i++)
            put_value(t, tick, keys[i], values[i]);
        thread_leave();
    }
}

int tide_snapshot(const char *path)
{
    struct thread *t = thread_enter();
    int result = -1;
    if (t) {
        struct wire_held held;
        allocator_ask(t, OWN_FRAME(), &held);
        result = recorder_snapshot(path ? path : "", &held);
        thread_leave();
    }
    return result;
}

/* `heap`: struct tide_heap, beginning with its size, which is that of when the program was
 * built. */
int tide_figures(void *heap, int restart)
{
    struct {
        size_t size;
        struct wire_figures numbers;
    } all = {0};
    struct thread *t = thread_enter();
    int result = -1;
    if (t) {
        result = recorder_figures(restart != 0, &all.numbers);
        thread_leave();
    }
    memcpy(&all.size, heap, sizeof all.size);
    if (result == 0)
        memcpy(heap, &all, all.size < sizeof all ? all.size : sizeof all);
    return result;
}

void tide_pause(void)
{
    struct thread *t = thread_enter();
    if (t) {
        put_note(t, WIRE_NOTE_PAUSED, 0, NULL, 0, NULL);
        atomic_store(&recorder.header->paused, 1);
        thread_leave();
    }
}

void tide_resume(void)
{
    struct thread *t = thread_enter();
    if (t) {
        atomic_store(&recorder.header->paused, 0);
        thread_leave();
    }
}

void tide_thread_name(const char *name)
{
    struct thread *t = name ? thread_enter() : NULL;
    if (t) {
        thread_named(t, name);
        t->named = true;
        thread_leave();
    }
}
