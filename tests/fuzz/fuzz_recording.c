/*
 * Any bytes as a recording: opened, all of it looked at, and a few questions asked.
 *
 * Checksums would keep the fuzzer out, so there are two kinds of input. The first byte 0: the rest
 * is the file. Else: the rest is a list of chunks (type, process, size: 2 bytes, contents) that are
 * put into a file with everything around them as it should be.
 */
#include "fuzz.h"

#include <xxhash.h>

#include "look.h"
#include "store/chunk.h"
#include "store/reader.h"
#include "store/writer.h"

static const enum chunk_type types[] = {
    CHUNK_PROCESS,   CHUNK_MODULES,    CHUNK_THREADS,  CHUNK_NODES,    CHUNK_SITES,
    CHUNK_INTERVALS, CHUNK_STAMPS,     CHUNK_NOTES,    CHUNK_FRAMES,   CHUNK_STRINGS,
    CHUNK_DONE,      CHUNK_INHERITED,  CHUNK_MARKS,    CHUNK_LIVE,     CHUNK_DEFAULTS,
    CHUNK_MAPS,      CHUNK_HISTOGRAMS, CHUNK_SAMPLING, CHUNK_CHAINS,   CHUNK_FOOTPRINTS,
    CHUNK_PYTHON,    CHUNK_INPUTS,     CHUNK_SPREADS,  CHUNK_IMPORTED, CHUNK_ATTACHED};
enum { TYPES = sizeof types / sizeof *types };

/* A chunk whose payload is zstd's simplest frame: one block, not packed. Much faster than zstd. */
static void append_plain(struct strbuf *out, uint32_t type, uint32_t process, const void *bytes,
                         uint32_t size)
{
    uint8_t header[CHUNK_HEADER], frame[12] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0};
    uint32_t block = 1 | size << 3, fields[4] = {type, process, sizeof frame + size, size};
    struct strbuf payload = {0};
    memcpy(frame + 5, &size, 4);
    memcpy(frame + 9, &block, 3);
    strbuf_add(&payload, frame, sizeof frame);
    strbuf_add(&payload, bytes, size);
    memcpy(header, fields, 16);
    uint64_t checksum = XXH64(payload.data, payload.size, XXH64(header, 16, 0));
    memcpy(header + 16, &checksum, 8);
    strbuf_add(out, header, sizeof header);
    strbuf_add(out, payload.data, payload.size);
    strbuf_release(&payload);
}

static void build_file(struct strbuf *out, const uint8_t *data, size_t size)
{
    writer_begin(out);
    while (size >= 4) {
        uint32_t length = (uint32_t)(data[2] | data[3] << 8);
        if (length > size - 4)
            length = (uint32_t)size - 4;
        append_plain(out, types[data[0] % TYPES], data[1] % 4, data + 4, length);
        data += 4 + length;
        size -= 4 + length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf file = {0};
    struct recording *r;
    struct err err;
    if (size == 0)
        return 0;
    if (data[0] == 0)
        strbuf_add(&file, data + 1, size - 1);
    else
        build_file(&file, data + 1, size - 1);
    char *exact = xmalloc(file.size); /* a read beyond its end must be seen */
    memcpy(exact, file.data, file.size);
    if (recording_parse(exact, file.size, "fuzz.tide", &r, &err) == 0) {
        look(r, XXH64(data, size, 0));
        recording_free(r);
    }
    free(exact);
    strbuf_release(&file);
    return 0;
}

/* --- seeds ------------------------------------------------------------------------------------ */

static struct recording *sample(void)
{
    struct recording *r = recording_new();
    struct profile *p = vec_push(&r->profiles);
    *p = (struct profile){.pid = 1, .executable = xstrdup("/bin/x"), .host = xstrdup("h")};
    *vec_push(&p->command) = xstrdup("x");
    *vec_push(&p->modules) = (struct module){.start = 0x1000,
                                             .end = 0x9000,
                                             .bias = 0x1000,
                                             .path = xstrdup("/bin/x"),
                                             .build_id_size = 4};
    *vec_push(&p->threads) = (struct thread){.tid = 1, .name = xstrdup("main")};
    *vec_push(&p->nodes) = (struct node){0};
    *vec_push(&p->frame_runs) = 0;
    for (uint32_t i = 0; i < 4; i++) {
        *vec_push(&p->nodes) = (struct node){.parent = i / 2, .address = 0x2000 + i * 16};
        *vec_push(&p->sites) = (struct site){.node = i + 1,
                                             .domain = i == 3,
                                             .unit_bytes = 16,
                                             .unit_usable = 24,
                                             .at_peak_bytes = i};
        *vec_push(&p->frames) =
            (struct frame){.function = strpool_add(&r->strings, i ? "f" : "main"),
                           .module = strpool_add(&r->strings, "x"),
                           .file = strpool_add(&r->strings, "x.c"),
                           .line = i,
                           .kind = i == 2 ? FRAME_INLINED : FRAME_NATIVE};
        if (i != 2) {
            *map_at(&p->symbols, 0x2000 + i * 16) = (uint32_t)p->frame_runs.count - 1;
            *vec_push(&p->frame_runs) = i + 1;
        }
    }
    for (uint64_t i = 0; i < 8; i++) {
        *vec_push(&p->intervals) = (struct interval){.end_ns = (i + 1) * 1000000000,
                                                     .peak_bytes = 64,
                                                     .first_row = p->rows.count,
                                                     .row_count = 2};
        for (uint32_t k = 0; k < 2; k++)
            *vec_push(&p->rows) =
                (struct row){.site = k * 2 + (i > 0),
                             .columns = {2, 32, i, i == 7 ? UINT64_C(1) << 63 : 16 * i}};
        *vec_push(&p->stamps) = (struct stamp){.time_ns = i, .rss_bytes = 4096};
        *vec_push(&p->marks) = (struct mark){.label = strpool_add(&r->strings, "event"),
                                             .intervals = i + 1,
                                             .stamp = {.time_ns = i, .rss_bytes = 4096}};
    }
    strpool_add(&p->map_names, "");
    for (uint32_t i = 0; i < 2; i++) {
        *vec_push(&p->captures) = (struct capture){.kind = i, .time_ns = i, .first = i, .count = 1};
        *vec_push(&p->mappings) = (struct mapping){.start = 4096 * i,
                                                   .end = 8192,
                                                   .flags = 3,
                                                   .name = strpool_add(&p->map_names, "/bin/x"),
                                                   .first_node = i,
                                                   .node_count = 1,
                                                   .kib = {4}};
        *vec_push(&p->map_nodes) = (struct mapping_node){.node = i, .kib = 4};
    }
    for (uint32_t i = 0; i < 2; i++) {
        *vec_push(&p->footprints) = (struct footprint){.kind = i,
                                                       .time_ns = i,
                                                       .rss_bytes = 8192,
                                                       .parts = {100, 28, 3968, 4096},
                                                       .trim_bytes = 4096,
                                                       .first_pin = i,
                                                       .pin_count = 1};
        *vec_push(&p->pins) = (struct pin){.site = i, .pinned = 3968, .bytes = 128};
    }
    p->has_histograms = true;
    *vec_push(&p->sizes) = (struct bucket_row){.site = 0, .bucket = 5, .count = 1, .bytes = 40};
    *vec_push(&p->sizes) = (struct bucket_row){.site = 2, .bucket = 1, .count = 1, .bytes = 2};
    *vec_push(&p->lifetimes) = (struct bucket_row){.site = 1, .bucket = 3, .count = 1};
    *vec_push(&p->freed_readings) = (struct freed_reading){2, 1, 300000, 1, 4096};
    p->duration_ns = UINT64_C(8000000000);
    p->peak_bytes = 64;
    *vec_push(&p->notes) = xstrdup("a note");
    for (uint32_t kind = 0; kind < SCAN_KINDS; kind++) {
        *vec_push(&p->scans) = (struct scan){.kind = kind,
                                             .time_ns = p->duration_ns,
                                             .intervals = 3,
                                             .first_row = p->live.count,
                                             .row_count = REACHES};
        for (uint32_t i = 0; i < REACHES; i++)
            *vec_push(&p->live) = (struct live_row){
                .site = i, .interval = i % 3, .reach = i, .blocks = 3 - kind, .bytes = 48};
    }
    r->complete = true;
    return r;
}

/* As a file, and as a list of its chunks. */
static void save_seeds(const char *folder, const char *name, const struct recording *r)
{
    struct strbuf file = {0}, seed = {0}, raw = {0};
    struct chunk chunk;
    struct err err;
    char *chunks = xasprintf("%s_chunks", name);
    recording_write(&file, r);
    strbuf_putc(&seed, 0);
    strbuf_add(&seed, file.data, file.size);
    fuzz_save(folder, name, seed.data, seed.size);
    strbuf_clear(&seed);
    strbuf_putc(&seed, 1);
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file.data, file.size);
    for (source.offset = FILE_HEADER; chunk_next(&source, &chunk, &err) > 0;) {
        uint8_t head[4] = {0};
        while (types[head[0]] != chunk.type)
            head[0]++;
        fuzz_must(chunk_unpack(&chunk, &raw, &err) == 0 && raw.size < 65536);
        head[2] = (uint8_t)raw.size;
        head[3] = (uint8_t)(raw.size >> 8);
        strbuf_add(&seed, head, 4);
        strbuf_add(&seed, raw.data, raw.size);
    }
    fuzz_save(folder, chunks, seed.data, seed.size);
    chunk_source_release(&source);
    strbuf_release(&file);
    strbuf_release(&seed);
    strbuf_release(&raw);
    free(chunks);
}

void fuzz_seeds(const char *folder)
{
    struct recording *r = sample();
    struct merging *m = merging_new();
    save_seeds(folder, "file", r);
    for (uint32_t pid = 1; pid <= 3; pid++) {
        r->profiles.items[0].pid = pid;
        r->profiles.items[0].rank1 = pid;
        fuzz_must(merging_add(m, r, "x.tide", NULL) == 0);
    }
    struct recording *merged = merging_finish(m);
    save_seeds(folder, "merged", merged);
    recording_free(merged);
    merging_free(m);
    recording_free(r);
}
