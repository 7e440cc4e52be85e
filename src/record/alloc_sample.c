/*
 * run --sample: which allocations are recorded, and at which addresses they are.
 *
 * Points are placed at random on the line of all bytes that a thread allocates, one per
 * `sample_bytes` on average (a Poisson process), and a block that contains a point is recorded:
 * with probability 1 - exp(-size / sample_bytes); a block of no bytes never is. A thread keeps the
 * distance to its next point, so any other allocation costs a subtraction, in a few instructions
 * before the hook (routes.h). A recorded block is counted with its weight (wire/weights.h).
 *
 * A free must know whether its block was recorded. These blocks are in a table with one lock,
 * instead of the block index, of which they would touch a page each; the collector reads the table.
 * In front of it is a filter of one byte per KiB of address, which is 0 for nearly every free of
 * another block: of 512 KiB, about one is recorded. So few bytes stay in the cache while the
 * program frees blocks all over a large heap. Where nothing was ever written, the filter is the
 * kernel's shared zero page. An address is entered before the allocation returns and removed before
 * the block is freed, so the thread that frees it finds it.
 *
 * No floating point, no allocation. A forked child goes on with its copy: the blocks exist there
 * too.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/bootstrap_alloc.h"
#include "record/recorder.h"

#define STEPS      4  /* tables, each of 8 times as many places as the one before */
#define FIRST_BITS 13 /* places of the first: 64 KiB */
/* In the filter: the count was once so high, and is no longer decremented. */
#define STUCK UINT8_MAX

_Atomic uint8_t *tide_sample_filter;
__thread uint64_t tide_sample_left;

static struct spin lock;
static struct wire_block *tables[STEPS];
static _Atomic unsigned step; /* the number of the table in use, from 1; 0: there is none */
static size_t taken;
static struct wire_header *shared; /* where the collector finds the table */

static unsigned bits_of(unsigned number)
{
    return FIRST_BITS + 3 * (number - 1);
}

static size_t places_of(unsigned number)
{
    return number ? (size_t)1 << bits_of(number) : 0;
}

static size_t home_of(unsigned number, uintptr_t address)
{
    return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits_of(number));
}

/* The entry of the address, or one for it. */
static size_t place_of(unsigned number, uintptr_t address)
{
    const struct wire_block *table = tables[number - 1];
    size_t at = home_of(number, address), mask = places_of(number) - 1;
    while (table[at].address && table[at].address != address)
        at = (at + 1) & mask;
    return at;
}

/* Publishes which table is in use. */
static void tell(void)
{
    unsigned number = atomic_load(&step);
    uint64_t where = number ? (uintptr_t)tables[number - 1] | bits_of(number) : 0;
    atomic_store_explicit(&shared->totals.sample_table, where, memory_order_release);
}

/* A fork may come at any time: a table is put into use when it is complete, by one store. */
static bool grow(void)
{
    unsigned was = atomic_load(&step);
    size_t size = places_of(was + 1) * sizeof **tables;
    struct wire_block *larger = was < STEPS ? sys_map(size) : NULL;
    if (!larger)
        return false;
    recorder_own(larger, size);
    tables[was] = larger;
    for (size_t i = 0; i < places_of(was); i++) {
        const struct wire_block *b = &tables[was - 1][i];
        if (b->address)
            larger[place_of(was + 1, b->address)] = *b;
    }
    atomic_store(&step, was + 1);
    tell();
    if (was) /* the addresses stay ours; the contents are freed */
        sys_call(SYS_madvise, tables[was - 1], (long)(places_of(was) * sizeof **tables),
                 (long)MADV_DONTNEED);
    return true;
}

static void filter_add(uintptr_t address, int change)
{
    _Atomic uint8_t *byte = SAMPLE_FILTER_OF(address);
    uint8_t count = atomic_load_explicit(byte, memory_order_relaxed);
    if (count != STUCK)
        atomic_store_explicit(byte, (uint8_t)(count + change), memory_order_relaxed);
}

static struct indexed indexed_of(const struct wire_block *b)
{
    return (struct indexed){b->account, b->era, b->size, b->usable};
}

enum sample_added sample_add(const void *p, const struct indexed *b, struct indexed *old)
{
    uintptr_t address = (uintptr_t)p;
    enum sample_added result = SAMPLE_NO_ROOM;
    spin_lock(&lock);
    size_t places = places_of(atomic_load(&step));
    if (taken < places / 4 * 3 || grow() || taken < places / 16 * 15) {
        unsigned number = atomic_load(&step);
        struct wire_block *place = &tables[number - 1][place_of(number, address)];
        result = place->address ? SAMPLE_REPLACED : SAMPLE_ADDED;
        if (place->address) {
            *old = indexed_of(place);
        } else {
            taken++;
            filter_add(address, 1);
        }
        *place = (struct wire_block){address, b->account, b->era, b->size, b->usable};
    }
    spin_unlock(&lock);
    return result;
}

/* Moves up the entries that follow without a gap, unless they would come before their home. */
static void close_gap(unsigned number, size_t gap)
{
    struct wire_block *table = tables[number - 1];
    size_t mask = places_of(number) - 1;
    for (size_t at = (gap + 1) & mask; table[at].address; at = (at + 1) & mask)
        if (((at - home_of(number, table[at].address)) & mask) >= ((at - gap) & mask)) {
            table[gap] = table[at];
            gap = at;
        }
    table[gap].address = 0;
}

bool sample_find(const void *p, struct indexed *out, bool remove)
{
    uintptr_t address = (uintptr_t)p;
    spin_lock(&lock);
    unsigned number = atomic_load(&step);
    size_t at = number ? place_of(number, address) : 0;
    bool found = number && tables[number - 1][at].address;
    if (found)
        *out = indexed_of(&tables[number - 1][at]);
    if (found && remove) {
        close_gap(number, at);
        taken--;
        filter_add(address, -1);
    }
    spin_unlock(&lock);
    return found;
}

/*
 * -log2 of a random number between 0 and 1, with 32 fractional bits: the leading zeros are the
 * integer part, and each squaring of the rest gives a bit. The error is below 2^-31, far less than
 * a byte of any distance that matters.
 */
static uint64_t minus_log2(uint64_t random)
{
    uint64_t whole = (uint64_t)__builtin_clzll(random), part = 0, m = random << whole;
    for (unsigned i = 0; i < 32; i++) { /* m stands for m / 2^63, from 1 to 2 */
        unsigned __int128 square = (unsigned __int128)m * m;
        bool two = square >> 127;
        part = part << 1 | two;
        m = (uint64_t)(square >> (two ? 64 : 63));
    }
    return ((whole + 1) << 32) - part;
}

/* The distance to the next point, in bytes: 1 if it is in the very next one. */
static uint64_t draw(struct thread *t)
{
    static const uint64_t ln2 = UINT64_C(0xb17217f7d1cf79ac); /* times 2^-64 */
    uint64_t x = t->sample_state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    t->sample_state = x;
    uint64_t nats =
        (uint64_t)((unsigned __int128)minus_log2((x * UINT64_C(0x2545f4914f6cdd1d)) | 1) * ln2 >>
                   64);
    return (uint64_t)((unsigned __int128)nats * recorder.sample_bytes >> 32) + 1;
}

static void seed(struct thread *t)
{
    uint64_t x = recorder.header->sample_seed + t->number * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    t->sample_state = (x ^ x >> 31) | 1;
    tide_sample_left = draw(t);
}

/* A point was reached, or the thread has no distance yet. */
bool sample_draw(struct thread *t, size_t size)
{
    if (!t->sample_state)
        seed(t);
    if (size < tide_sample_left) {
        tide_sample_left -= size;
        return false;
    }
    /* The next one counts from this block's end: the process has no memory. */
    tide_sample_left = draw(t);
    return true;
}

void sample_recover(void)
{
    spin_recover(&lock);
}

/* Memory from before `next` was known must not reach the next free: its addresses look as if they
 * were recorded, for ever. */
static void send_boot_to_hooks(void)
{
    char *start;
    size_t size = boot_bytes(&start);
    for (size_t at = 0; at < size; at += 16)
        atomic_store_explicit(SAMPLE_FILTER_OF((uintptr_t)start + at), STUCK, memory_order_relaxed);
}

bool sample_reset(struct wire_header *h)
{
    spin_reset(&lock);
    recorder.sample_bytes = h->sample_bytes;
    atomic_store(&recorder.sampled, h->sample_bytes != 0);
    shared = h;
    tell();
    if (recorder.sample_bytes && !tide_sample_filter) {
        tide_sample_filter = sys_map(SAMPLE_FILTER_SIZE);
        if (tide_sample_filter) {
            recorder_own((const void *)tide_sample_filter, SAMPLE_FILTER_SIZE);
            send_boot_to_hooks();
        }
    }
    return !recorder.sample_bytes || tide_sample_filter;
}
