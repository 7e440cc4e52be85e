#include "store/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <zstd.h>

#include "base/err.h"
#include "store/merge.h"
#include "store/chunk_table.h"

#define WORTH_A_THREAD 20000 /* nodes: fewer are packed in a few milliseconds */

void writer_begin(struct strbuf *out)
{
    uint32_t version[2] = {FILE_VERSION, 0};
    strbuf_add(out, FILE_MAGIC, 8);
    strbuf_add(out, version, 8);
}

/* --- the chunks of a profile, compressed on several processors -------------------------------- */

struct packing {
    uint32_t process;
    unsigned wanted; /* of profile_part */
    const struct profile *profile;
    const struct packed_figures *packed;
    _Atomic size_t next; /* the next part that no thread has taken */
    struct strbuf out[CHUNK_CODECS];
};

/* The memory that a reader needs for the chunk, if that is far more than its bytes. */
static uint64_t memory_of(const struct packing *k, enum chunk_type type)
{
    const struct profile *p = k->profile;
    uint64_t rows = 0;
    switch (type) {
    case CHUNK_NODES: /* each node may have an address of its own */
        return p->nodes.count * (sizeof(struct node) + sizeof(uint64_t));
    case CHUNK_SITES:
        return packed_sites(p, k->packed) * sizeof(struct site);
    case CHUNK_INTERVALS:
        for (size_t i = 0; i < p->intervals.count; i++)
            rows += k->packed ? k->packed->counts[i] : p->intervals.items[i].row_count;
        return rows * sizeof(struct row) + p->intervals.count * sizeof(struct interval);
    case CHUNK_LIVE:
        return p->live.count * sizeof(struct live_row);
    case CHUNK_HISTOGRAMS:
        return (p->sizes.count + p->lifetimes.count) * sizeof(struct bucket_row) +
               p->freed_readings.count * sizeof(struct freed_reading);
    case CHUNK_INPUTS:
        return p->merge->inputs.count * sizeof(struct merge_input);
    case CHUNK_SPREADS:
        return p->merge->spreads.count * sizeof(struct spread_row);
    case CHUNK_FRAMES:
        return p->frame_runs.count * SYMBOL_BYTES + p->frames.count * sizeof(struct frame);
    default:
        return 0;
    }
}

static void *pack_parts(void *arg)
{
    struct packing *k = arg;
    struct strbuf b = {0};
    ZSTD_CCtx *compressor = must_alloc(ZSTD_createCCtx());
    for (size_t i; (i = atomic_fetch_add(&k->next, 1)) < CHUNK_CODECS;) {
        const struct chunk_codec *codec = &chunk_table[i];
        if (!(codec->part & k->wanted) || (codec->if_there && !codec->is_there(k->profile)))
            continue;
        strbuf_clear(&b);
        if (codec->put)
            codec->put(&b, k->profile);
        else
            codec->put_packed(&b, k->profile, k->packed);
        chunk_append_large(&k->out[i], codec->type, k->process, &b, memory_of(k, codec->type),
                           compressor);
    }
    ZSTD_freeCCtx(compressor);
    strbuf_release(&b);
    return NULL;
}

void writer_parts(struct strbuf *out, uint32_t process, const struct profile *p, unsigned wanted,
                  const struct packed_figures *packed)
{
    struct packing k = {.process = process, .wanted = wanted, .profile = p, .packed = packed};
    pthread_t helper;
    bool helped = wanted != PROFILE_ENDING && p->nodes.count > WORTH_A_THREAD &&
                  pthread_create(&helper, NULL, pack_parts, &k) == 0;
    pack_parts(&k);
    if (helped)
        pthread_join(helper, NULL);
    for (size_t i = 0; i < CHUNK_CODECS; i++) {
        strbuf_add(out, k.out[i].data ? k.out[i].data : "", k.out[i].size);
        strbuf_release(&k.out[i]);
    }
}

void writer_profile(struct strbuf *out, uint32_t process, const struct profile *p,
                    const struct packed_figures *packed)
{
    writer_parts(out, process, p, PROFILE_ENDING | PROFILE_FIGURES | PROFILE_NAMES, packed);
}

static void put_defaults(struct strbuf *b, const struct recording *r)
{
    strbuf_varint(b, r->defaults.count);
    for (size_t i = 0; i < r->defaults.count; i++) {
        strbuf_varint(b, (uint64_t)r->defaults.items[i].kind);
        string_put(b, r->defaults.items[i].name);
        string_put(b, r->defaults.items[i].text);
    }
}

void writer_end(struct strbuf *out, const struct recording *r)
{
    struct strbuf b = {0};
    strbuf_varint(&b, r->strings.strings.count);
    for (size_t i = 0; i < r->strings.strings.count; i++)
        string_put(&b, r->strings.strings.items[i]);
    chunk_append(out, CHUNK_STRINGS, 0, &b);
    strbuf_clear(&b);
    if (r->defaults.count) {
        put_defaults(&b, r);
        chunk_append(out, CHUNK_DEFAULTS, 0, &b);
        strbuf_clear(&b);
    }
    if (r->complete)
        chunk_append(out, CHUNK_DONE, 0, &b);
    strbuf_release(&b);
}

void recording_write(struct strbuf *out, const struct recording *r)
{
    writer_begin(out);
    for (size_t i = 0; i < r->profiles.count; i++)
        writer_profile(out, (uint32_t)i, &r->profiles.items[i], NULL);
    writer_end(out, r);
}
