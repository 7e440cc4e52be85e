/*
 * read_rings: from records in rings to entries in the ledger.
 *
 * Within a ring, records are in the thread's order. Records of different rings are read in the
 * order of their sequence numbers (wire/layout.h). A pass notes how far every ring has been
 * written, and then does so again: whatever the records of the first reading depend on exists by
 * the second. So it reads, in order, until everything from the first reading is done.
 */
#include <string.h>
#include <time.h>

#include "collect/counting/heap_peak.h"
#include "collect/counting/ring_records.h"
#include "collect/counting/target.h"

/* volatile: the program could change a word between two reads of it, and we must not see both
 * values. */
static inline uint64_t word_at(const struct reader *r, unsigned i)
{
    return ((const volatile uint64_t *)r->chunk)[r->at % WIRE_CHUNK_WORDS + i];
}

/* Finds the chunk, at its beginning. false: the program says nonsense about where it is. */
static bool enter_chunk(struct reader *r)
{
    unsigned place = atomic_load_explicit(&r->ring->order[r->at / WIRE_CHUNK_WORDS % WIRE_ORDER],
                                          memory_order_relaxed);
    r->chunk = r->chunks + (size_t)place * WIRE_CHUNK_WORDS;
    return place < WIRE_CHUNKS;
}

/* Is the record about the ring's thread or what it did? A ring first says whose it is. */
static bool has_subject(unsigned kind)
{
    return kind != WIRE_TICK && kind != WIRE_SEQUENCE && kind != WIRE_PAD;
}

/* Reads a record into `w`. Returns its kind, or WIRE_NOTHING: the ring is damaged, and is not read
 * any more. */
static unsigned next_record(struct target *t, struct reader *r, uint64_t w[WIRE_RECORD_MAX])
{
    unsigned kind = WIRE_NOTHING, words = 0;
    if (r->at % WIRE_CHUNK_WORDS != 0 || enter_chunk(r)) {
        w[0] = word_at(r, 0);
        kind = WIRE_KIND(w[0]);
        words = wire_record_words(kind);
    }
    if (kind == WIRE_NOTHING || kind >= WIRE_KINDS || r->head - r->at < words ||
        WIRE_CHUNK_WORDS - r->at % WIRE_CHUNK_WORDS < words ||
        (r->thread == NO_THREAD && kind != WIRE_THREAD_BEGIN && has_subject(kind))) {
        r->damaged = true;
        t->ledger.lost_events++;
        r->at = r->due = r->head;
        return WIRE_NOTHING;
    }
    for (unsigned i = 1; i < words; i++)
        w[i] = word_at(r, i);
    r->at += words;
    return kind;
}

/*
 * Reads a ring's records, not beyond tick `limit` nor sequence number `until`; at least one if
 * there is any.
 */
static void drain_some(struct target *t, struct reader *r, uint32_t limit, uint64_t until)
{
    while (r->at < r->head) {
        uint64_t w[WIRE_RECORD_MAX];
        unsigned kind = next_record(t, r, w);
        if (kind == WIRE_NOTHING)
            break;
        switch (kind) {
        case WIRE_ROW_SMALL:
        case WIRE_ROW:
        case WIRE_GROWTH:
            accounts_record(t, r, w);
            break;
        case WIRE_TICK:
            r->tick = (uint32_t)w[0];
            if (w[1] > t->accounts.interval_peak_bytes)
                t->accounts.interval_peak_bytes = w[1];
            break;
        case WIRE_PAD:
            r->at = (r->at + WIRE_CHUNK_WORDS - 1) / WIRE_CHUNK_WORDS * WIRE_CHUNK_WORDS;
            break;
        case WIRE_SEQUENCE:
            if ((w[0] & WIRE_LOW48) > r->sequence)
                r->sequence = w[0] & WIRE_LOW48;
            break;
        case WIRE_NOTE: {
            uint32_t tick = marks_note(t, r->thread, w);
            r->tick = tick > r->tick ? tick : r->tick;
            break;
        }
        case WIRE_MAP:
        case WIRE_UNMAP:
            record_map(t, r, w);
            break;
        case WIRE_FORK:
            accounts_inherited(t, w[1], w[2]);
            fork_image_take(t, (uint32_t)w[0]);
            break;
        default:
            record_thread(t, r, w);
            break;
        }
        if (r->tick > limit || r->sequence > until)
            break;
    }
    /* Pairs with the acquire load in ring_room(): the words may be written again. */
    atomic_store_explicit(&r->ring->read, r->at, memory_order_release);
}

/* Reads what is due up to a tick, always from the ring that is furthest behind in sequence. */
static void drain_until(struct target *t, uint32_t limit)
{
    for (;;) {
        struct reader *behind = NULL;
        uint64_t until = UINT64_MAX; /* the next ring's number */
        bool due = false;
        for (size_t i = 0; i < t->active.count; i++) {
            struct reader *r = t->active.items[i];
            if (r->at >= r->head || r->tick > limit)
                continue;
            due |= r->at < r->due;
            if (!behind || r->sequence < behind->sequence) {
                if (behind)
                    until = behind->sequence;
                behind = r;
            } else if (r->sequence < until) {
                until = r->sequence;
            }
        }
        if (!due)
            return;
        drain_some(t, behind, limit, until);
    }
}

static uint64_t written_in(struct target *t, struct reader *r)
{
    uint64_t written = atomic_load_explicit(&r->ring->written, memory_order_acquire);
    if (!r->damaged && (written < r->at || written - r->at > WIRE_RING_WORDS)) {
        r->damaged = true;
        t->ledger.lost_events++;
    }
    if (r->damaged) { /* we cannot interpret it, but its thread must not wait for us */
        r->at = written;
        atomic_store_explicit(&r->ring->read, written, memory_order_release);
    }
    return written;
}

/* Notes how far rings may be read. It is called after the due records of all rings were noted:
 * whatever comes before these in sequence is then included. */
static void find_heads(struct target *t)
{
    target_meet_rings(t);
    t->active.count = 0;
    for (size_t i = 0; i < t->readers.count; i++) {
        struct reader *r = &t->readers.items[i];
        r->head = written_in(t, r);
        if (r->head > r->at)
            *vec_push(&t->active) = r;
    }
}

/* How long an interval may stay open for a thread that has not noticed its end, and for one that is
 * just reporting what it counted before. */
#define PATIENCE_NS 50000000
#define TELLING_NS  1000000000
#define TRIES       8 /* readings of the accounts, while threads are reporting */
/* If an interval must end now: how often, and how long, to wait for a thread that is reporting. */
#define NAPS   1000
#define NAP_NS 100000

/* Is it better to read the accounts later? Only for a single thread: what several threads report
 * about one block must be read in about the order in which it happened. Only the last boundary may
 * be put off, because what comes after it is not read meanwhile. */
static bool puts_off(const struct target *t, size_t i, uint64_t now_ns)
{
    const struct boundary *b = &t->boundaries.items[i];
    const struct reader *only = NULL;
    if (!t->patient || !b->patient || i + 1 != t->boundaries.count ||
        now_ns > b->time_ns + PATIENCE_NS)
        return false;
    for (size_t k = 0; k < t->readers.count; k++) {
        const struct reader *r = &t->readers.items[k];
        if (r->thread == NO_THREAD || r->damaged)
            continue;
        if (only)
            return false;
        only = r;
    }
    uint32_t dirty = only ? atomic_load_explicit(&only->ring->dirty, memory_order_relaxed) : 0;
    return only && only->tick <= b->tick && dirty && dirty != WIRE_LAST;
}

/* Reads, at the end of an interval, what threads have counted that have not noticed it yet. A
 * thread that is just noticing it writes rows, which are read then; false: a thread is still
 * writing. */
static bool read_accounts(struct target *t, uint32_t tick)
{
    bool again = true;
    for (unsigned tries = 0; tries < TRIES && again; tries++) {
        again = false;
        target_meet_rings(t);
        for (size_t i = 0; i < t->readers.count; i++) {
            struct reader *r = &t->readers.items[i];
            if (r->tick > tick || accounts_read_unreported(t, r, false))
                continue;
            r->due = written_in(t, r);
            again = true;
        }
        if (again) {
            find_heads(t);
            drain_until(t, tick);
        }
    }
    accounts_take_counters(t);
    return !again;
}

/* read_accounts for an interval that must end now. */
static void read_accounts_now(struct target *t, uint32_t tick)
{
    unsigned most = t->ended || t->stopped ? 0 : NAPS;
    for (unsigned naps = 0; !read_accounts(t, tick) && naps < most; naps++)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Reads what was counted before a boundary. false: later, because a thread has not reported it. */
static bool finish_interval(struct target *t, size_t i, uint64_t now_ns)
{
    const struct boundary *b = &t->boundaries.items[i];
    if (puts_off(t, i, now_ns))
        return false;
    if (!t->patient)
        read_accounts_now(t, b->tick);
    else if (!read_accounts(t, b->tick) && now_ns < b->time_ns + TELLING_NS)
        return false;
    return true;
}

void drain_counters(struct target *t)
{
    if (t->header)
        read_accounts(t, t->boundaries.count ? t->boundaries.items[0].tick : t->tick);
}

uint64_t drain_rings(struct target *t, uint64_t now_ns)
{
    uint64_t words = 0;
    size_t held = 0; /* number of boundaries left for a later pass */
    t->pass_words = 0;
    target_meet_rings(t);
    accounts_note_counters(t);
    uint64_t unrecorded = atomic_load_explicit(&t->header->unrecorded, memory_order_relaxed);
    if (unrecorded > t->unrecorded)
        t->ledger.lost_events += unrecorded - t->unrecorded;
    t->unrecorded = unrecorded;
    for (size_t i = 0; i < t->readers.count; i++) {
        struct reader *r = &t->readers.items[i];
        uint64_t dropped = atomic_load_explicit(&r->ring->dropped, memory_order_relaxed);
        r->due = written_in(t, r);
        words += r->due - r->at;
        if (r->due - r->at > t->pass_words)
            t->pass_words = r->due - r->at;
        if (dropped > r->dropped)
            t->ledger.lost_events += dropped - r->dropped;
        r->dropped = dropped;
    }
    find_heads(t);
    for (size_t i = 0; i < t->boundaries.count; i++) {
        struct boundary *b = &t->boundaries.items[i];
        bool kept;
        drain_until(t, b->tick);
        if (!finish_interval(t, i, now_ns)) {
            held = t->boundaries.count - i;
            memmove(t->boundaries.items, b, held * sizeof *b);
            break;
        }
        heap_peak_end_interval(t, b->tick);
        uint64_t end_ns = marks_end(t, b, &kept);
        interval_log_close(&t->timeline, &t->ledger, end_ns, b->tick, kept);
        eras_begin(&t->eras, end_ns, b->tick + 1, true);
    }
    t->boundaries.count = held;
    accounts_begin_era(t, now_ns);
    /* Marks that were made since the boundaries were read get theirs in the next pass, and what
     * follows them has to wait for it. This must come after the last reading of how far rings were
     * written. */
    uint32_t made = atomic_load(&t->header->tick);
    uint32_t limit = held ? t->boundaries.items[0].tick : t->tick;
    drain_until(t, held || made - t->tick - 1 < INT32_MAX ? limit : UINT32_MAX);
    realloc_chains_settle(t);
    accounts_take_unknown(t);
    heap_peak_watch(t, now_ns);
    return words;
}
