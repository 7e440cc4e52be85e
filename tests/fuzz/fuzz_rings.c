/*
 * A program that writes anything anywhere into the memory it shares with the collector.
 *
 * The input is a list of deeds: proper records, raw words, positions, places of chunks, nodes,
 * modules, bytes over the header; and passes of the collector between them. At the end everything
 * is finished, and what goes into the file must be a recording that opens whole.
 */
#include "fuzz.h"

#include <unistd.h>

#include "collect/counting/target.h"
#include "store/reader.h"
#include "store/writer.h"

enum deed {
    DEED_RECORD,  /* ring, kind, address / 16, stack, size */
    DEED_WORDS,   /* ring, count, words */
    DEED_WRITTEN, /* ring, position */
    DEED_ORDER,   /* ring, chunk, place */
    DEED_SKIP,    /* ring: the rest of the chunk is padding */
    DEED_NODE,    /* number, parent, address */
    DEED_NODES,   /* how many */
    DEED_MODULES, /* bytes in use, offset, count, bytes */
    DEED_HEADER,  /* offset, 8 bytes */
    DEED_DROPPED, /* ring, how many */
    DEED_RINGS,   /* one more */
    DEED_PASS,    /* time */
    DEED_PYTHON,  /* bytes in use, offset, count, bytes */
    DEED_ACCOUNT, /* ring, number, stack, allocations */
    DEEDS
};

enum { SLOTS_MOST = 2000 }; /* more would take most of the time */

struct input {
    const uint8_t *at, *end;
};

static uint64_t take(struct input *in, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes && in->at < in->end; i++)
        v |= (uint64_t)*in->at++ << i * 8;
    return v;
}

/* Writes a word as the program would, in the chunk that order[] says, or in the first. */
static void put(struct reader *r, uint64_t *position, uint64_t word)
{
    uint64_t chunk = *position / WIRE_CHUNK_WORDS;
    unsigned place = r->ring->order[chunk % WIRE_ORDER];
    if (place < WIRE_CHUNKS)
        ((uint64_t *)r->chunks)[place * WIRE_CHUNK_WORDS + *position % WIRE_CHUNK_WORDS] = word;
    ++*position;
}

static void do_record(struct target *t, struct reader *r, struct input *in)
{
    unsigned kind = (unsigned)take(in, 1);
    uint64_t address = take(in, 1) * 16, stack = take(in, 1), size = take(in, 2);
    uint64_t position = r->ring->written;
    (void)t;
    put(r, &position, WIRE_WORD(kind & 15, kind >> 4, address));
    unsigned words = wire_record_words(kind & 15);
    if ((kind & 15) == WIRE_ROW_SMALL)
        put(r, &position, size << 44 | stack << 24);
    else if (words > 1)
        put(r, &position, (kind & 15) == WIRE_UNMAP ? size * 4096 : stack);
    for (unsigned i = 2; i < words; i++)
        put(r, &position, i == 4 && (kind & 15) == WIRE_GROWTH ? stack << 32 | stack : size * 4096);
    r->ring->written = position;
}

static void do_deed(struct target *t, struct input *in)
{
    unsigned deed = (unsigned)take(in, 1);
    char *base = (char *)t->header;
    struct reader *r = &t->readers.items[deed / 16 % t->readers.count];
    switch (deed % 16) {
    case DEED_RECORD:
        do_record(t, r, in);
        break;
    case DEED_WORDS: {
        uint64_t position = r->ring->written;
        for (uint64_t n = take(in, 1); n > 0 && in->at < in->end; n--)
            put(r, &position, take(in, 8));
        r->ring->written = position;
        break;
    }
    case DEED_WRITTEN:
        r->ring->written += (uint64_t)(int64_t)(int16_t)take(in, 2);
        break;
    case DEED_ORDER: {
        uint64_t chunk = take(in, 1);
        r->ring->order[chunk % WIRE_ORDER] = (uint8_t)take(in, 1);
        break;
    }
    case DEED_SKIP: {
        uint64_t position = r->ring->written;
        put(r, &position, WIRE_WORD(WIRE_PAD, 0, 0));
        r->ring->written = (position + WIRE_CHUNK_WORDS - 1) / WIRE_CHUNK_WORDS * WIRE_CHUNK_WORDS;
        break;
    }
    case DEED_NODE: {
        uint64_t *slot = (uint64_t *)(void *)(base + t->header->slots_offset) + take(in, 1);
        *slot = take(in, 8);
        break;
    }
    case DEED_NODES: {
        uint32_t count = (uint32_t)take(in, 1);
        t->header->slots_end = count == 255 ? SLOTS_MOST : count;
        t->header->cut_end = WIRE_CUT_FIRST + count;
        break;
    }
    case DEED_MODULES: {
        t->header->modules_used = (uint32_t)take(in, 3);
        char *at = base + WIRE_PAGE + take(in, 2);
        for (uint64_t n = take(in, 1); n > 0; n--)
            *at++ = (char)take(in, 1);
        break;
    }
    case DEED_HEADER: {
        uint64_t offset = take(in, 2) % (WIRE_PAGE - 8), bytes = take(in, 8);
        uint64_t slots = t->header->slots_offset;
        memcpy(base + offset, &bytes, 8);
        t->header->slots_offset = slots; /* this fuzzer itself relies on it */
        break;
    }
    case DEED_DROPPED:
        r->ring->dropped = take(in, 2);
        break;
    case DEED_RINGS:
        if (t->rings.count < 8) {
            size_t size;
            int fd = target_more_rings(t, 1, &size);
            if (fd >= 0)
                close(fd);
            t->header->rings_used = (uint32_t)t->rings.count;
        }
        break;
    case DEED_PYTHON: {
        t->header->python_used = (uint32_t)take(in, 3);
        char *at = base + t->python.offset + take(in, 2);
        for (uint64_t n = take(in, 1); n > 0; n--)
            *at++ = (char)take(in, 1);
        break;
    }
    case DEED_ACCOUNT: {
        struct wire_account *a = (struct wire_account *)(uintptr_t)t->accounts.windows[0];
        uint32_t number = (uint32_t)take(in, 1);
        a[number].owner = r->ring->owner | (number & 3 ? 0 : WIRE_ACCOUNT_OTHERS);
        a[number].node = (uint32_t)take(in, 1);
        a[number].allocs = (uint32_t)take(in, 1);
        a[number].size = 10;
        a[number].amounts = (uint32_t)take(in, 1) % 8 ? 0 : (uint32_t)take(in, 1);
        a[number].cells = (uint32_t)take(in, 1);
        a[number].next_dirty = r->ring->dirty;
        r->ring->dirty = number;
        break;
    }
    default:
        target_drain(t, take(in, 3) * 1000);
        break;
    }
}

/* Every node that says it is Python's gets a frame. */
static void name_python(const struct target *t)
{
    struct strpool strings = {0};
    strpool_add(&strings, "");
    for (size_t i = 1; i < t->profile.nodes.count; i++)
        if (NODE_IS_PYTHON(t->profile.nodes.items[i].address)) {
            struct frame f =
                python_codes_frame(&t->python.codes, t->profile.nodes.items[i].address, &strings);
            fuzz_must(f.kind == FRAME_PYTHON && f.function && f.function < strings.strings.count &&
                      f.file < strings.strings.count);
        }
    strpool_release(&strings);
}

/* What the ledger, the profile and the ranges promise, whatever was in the rings. */
static void check(const struct target *t, size_t accounts)
{
    const struct profile *p = &t->profile;
    fuzz_must(p->sites.count == accounts);
    for (size_t i = 0; i < p->sites.count; i++)
        fuzz_must(p->sites.items[i].node < p->nodes.count &&
                  p->sites.items[i].thread < p->threads.count);
    for (size_t i = 1; i < p->nodes.count; i++)
        fuzz_must(p->nodes.items[i].parent < i);
    for (size_t i = 1; i < t->program_mmaps.items.count; i++)
        fuzz_must(t->program_mmaps.items.items[i - 1].end <= t->program_mmaps.items.items[i].start);
    fuzz_must(t->timeline.kept <= INTERVAL_LOG_KEPT &&
              t->timeline.slices.count - t->timeline.kept < INTERVAL_LOG_MAX &&
              p->intervals.count == t->timeline.slices.count);
}

static void write_and_open(struct target *t)
{
    struct recording out = {.complete = true}, *in;
    size_t n = t->timeline.slices.count, *counts = xcalloc(n, sizeof *counts);
    const struct strbuf **rows = xcalloc(n, sizeof *rows);
    struct strbuf file = {0};
    struct err err;
    for (size_t i = 0; i < n; i++) {
        rows[i] = &t->timeline.slices.items[i].rows;
        counts[i] = t->timeline.slices.items[i].row_count;
    }
    writer_begin(&file);
    writer_profile(&file, 0, &t->profile, &(struct packed_figures){.rows = rows, .counts = counts});
    writer_end(&file, &out);
    fuzz_must(recording_parse(file.data, file.size, "x", &in, &err) == 0);
    fuzz_must(in->complete && in->profiles.items[0].sites.count == t->profile.sites.count);
    recording_free(in);
    strbuf_release(&file);
    free(rows);
    free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err; /* no process 0: nothing of /proc is read */
    struct target *t = target_new(0, true, WIRE_WAIT, 1000000, &err);
    fuzz_must(t != NULL);
    struct input in = {data, data + size};
    t->header->rings_used = 4;
    target_meet_rings(t);
    for (unsigned i = 0; i < 4; i++) { /* so that the input need not find out how to begin */
        uint64_t position = 0;
        put(&t->readers.items[i], &position, WIRE_WORD(WIRE_THREAD_BEGIN, 0, 100 + i));
        put(&t->readers.items[i], &position, 1000000 + i);
        t->readers.items[i].ring->owner = (i + 1) * WIRE_ACCOUNT_OWNER;
        t->readers.items[i].ring->dirty = WIRE_LAST;
        t->readers.items[i].ring->written = i < 3 ? position : 0;
    }
    while (in.at < in.end)
        do_deed(t, &in);
    target_drain(t, 20000000);
    target_end(t, 20000001);
    size_t accounts = t->ledger.accounts.count;
    target_finish_stacks(t);
    target_finish(t);
    ledger_become_sites(&t->ledger, &t->profile, t->sampled.joined);
    check(t, accounts);
    name_python(t);
    if (size % 64 == 0) /* packing takes longer than all the rest */
        write_and_open(t);
    target_free(t);
    return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

/* clang-format off */
#define RECORD(ring, kind, address, stack, size) \
    (DEED_RECORD | (ring) << 4), (kind), (address), (stack), (size), 0
#define NODE(number, parent, address) \
    DEED_NODE, (number), (parent), 0, 0, (address), 0, 0, 0, 0, 0, 0
#define WORD(low) (low) & 0xff, (low) >> 8, 0, 0, 0, 0, 0, 0

#define ACCOUNT(ring, number, stack, allocs, cells) \
    (DEED_ACCOUNT | (ring) << 4), (number), (stack), (allocs), (cells)

/* Records name accounts by a multiple of 16. */
static const uint8_t events[] = {
    NODE(1, 0, 0x10), NODE(2, 1, 0x20), DEED_NODES, 3,
    ACCOUNT(0, 17, 1, 3, 0), ACCOUNT(0, 33, 2, 2, 36), ACCOUNT(0, 18, 2, 1, 0),
    RECORD(0, WIRE_ROW_SMALL, 2, 1, 10), RECORD(0, WIRE_ROW, 1, 2, 9),
    RECORD(0, WIRE_GROWTH, 1, 16, 2), RECORD(0, WIRE_GROWTH, 1, 32, 4),
    RECORD(0, WIRE_MAP, 9, 1, 4), RECORD(0, WIRE_UNMAP, 9, 0, 2),
    DEED_PASS, 1, 0, 0,
    RECORD(0, WIRE_TICK, 0, 0, 0), RECORD(0, WIRE_THREAD_NAME, 100 / 16, 0, 0),
    RECORD(0, WIRE_ROW_SMALL, 2, 0, 0),
};

static const uint8_t threads[] = {
    RECORD(0, WIRE_SEQUENCE, 1, 0, 0), RECORD(0, WIRE_MAP, 1, 0, 10),
    RECORD(1, WIRE_SEQUENCE, 2, 0, 0), RECORD(1, WIRE_UNMAP, 1, 0, 10), RECORD(1, WIRE_MAP, 1, 0, 5),
    RECORD(2, WIRE_SEQUENCE, 3, 0, 0), RECORD(2, WIRE_UNMAP, 1, 0, 5),
    ACCOUNT(0, 32, 1, 3, 0), ACCOUNT(1, 16, 32, 1, 0), RECORD(1, WIRE_ROW, 1, 0, 1),
    DEED_PASS, 0, 0, 1,
    DEED_SKIP | 1 << 4, DEED_ORDER | 1 << 4, 1, 5,
    RECORD(1, WIRE_MAP, 4, 0, 1), RECORD(1, WIRE_THREAD_END, 0, 0, 0),
    RECORD(1, WIRE_THREAD_BEGIN, 9, 0, 0),
    DEED_RINGS, DEED_DROPPED, 3, 0, DEED_WRITTEN, 1, 0,
};

static const uint8_t code[] = {
    DEED_MODULES, 80, 0, 0, 0, 0, 76, /* 80 bytes in use, 76 of them at 0: a module and its path */
    WORD(0x1000), WORD(0x2000), WORD(0x1000), 1, 0, 0, 0, 12, 0, 20, 0,
    WORD(1), WORD(2), WORD(3), WORD(4), '/', 'l', 'i', 'b', '/', 'l', 'i', 'b', 'x', '.', 's', 'o',
    DEED_HEADER, 8, 0, WORD(0x201), DEED_PASS, 0, 0, 2,
};
static const uint8_t python[] = {
    DEED_PYTHON, 80, 0, 0, 8, 0, 72, /* 80 bytes in use, 72 of them at 8: two texts and a code object */
    1, 0, 0, 0, 4, 0, 0, 0, 'a', '.', 'p', 'y', 0, 0, 0, 0,
    1, 0, 0, 0, 1, 0, 0, 0, 'f', 0, 0, 0, 0, 0, 0, 0,
    2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 0xd8, 2, 0x68, 2, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    DEED_NODE, 1, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0x80, DEED_NODES, 2, ACCOUNT(0, 33, 1, 1, 0),
};
/* clang-format on */

void fuzz_seeds(const char *folder)
{
    fuzz_save(folder, "events", events, sizeof events);
    fuzz_save(folder, "threads", threads, sizeof threads);
    fuzz_save(folder, "code", code, sizeof code);
    fuzz_save(folder, "python", python, sizeof python);
}
