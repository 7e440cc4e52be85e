/*
 * heaptrack: the event list that heaptrack_print and heaptrack_gui open, compressed with gzip.
 *
 * For each stack it holds how much it allocated, how much of that was temporary, what it had at the
 * peak and what it never freed: all exactly (export/heaptrack_blocks.h). It loses threads, marks,
 * and the sizes of single blocks; what was live between start, peak and end is a lower bound. A
 * file takes a few bytes for each allocation before compression.
 */
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "export/export.h"
#include "export/heaptrack_blocks.h"

/* A class has two sizes. For blocks that come and go each size exists twice, because heaptrack
 * calls a block temporary if it is freed right after another one with the same number was
 * allocated. The same holds for those of the peak. */
enum { SMALLER, LARGER, SIZES, COPIES = 2 };

#define ALLOCATIONS 1000000000 /* the most that a file may have: some GB before compression */

struct infos {
    uint32_t of[BLOCK_CLASSES][COPIES][SIZES];
    uint64_t done[BLOCK_CLASSES]; /* blocks of each class that were allocated so far */
    uint64_t freed;               /* blocks of BLOCKS_PEAK that were freed so far */
};

struct freed {
    uint32_t info;
    uint64_t size;
};

struct heaptrack {
    struct export *e;
    const struct stack_table *table;
    struct heaptrack_blocks blocks;
    struct libdeflate_compressor *compressor;
    struct strbuf text;  /* not compressed yet */
    struct infos *infos; /* by row of the table */
    uint32_t info_count;
    uint32_t last; /* the last one that was allocated; 0: something was freed since */
    VEC(struct freed) deferred;
    uint64_t live, most;
    size_t stamp; /* the next one */
};

/* Compresses a part of the file as a gzip member of its own: members may follow each other. */
static void pack(struct heaptrack *h)
{
    struct strbuf *out = h->e->out;
    strbuf_reserve(out, libdeflate_gzip_compress_bound(h->compressor, h->text.size));
    out->size += libdeflate_gzip_compress(h->compressor, h->text.data, h->text.size,
                                          out->data + out->size, out->capacity - out->size);
    strbuf_clear(&h->text);
    report_flush(h->e->sink, out);
}

static void pack_some(struct heaptrack *h)
{
    if (h->text.size >= REPORT_CHUNK)
        pack(h);
}

/* --- tables that events refer to -------------------------------------------------------------- */

static uint32_t string_add(struct heaptrack *h, struct strpool *strings, const char *text)
{
    if (!*text)
        return 0;
    size_t known = strings->strings.count;
    uint32_t number = strpool_add(strings, text);
    if (strings->strings.count > known) {
        size_t size = strlen(text);
        strbuf_printf(&h->text, "s %zx ", size);
        for (size_t i = 0; i < size; i++)
            strbuf_putc(&h->text, text[i] == '\n' ? ' ' : text[i]);
        strbuf_putc(&h->text, '\n');
    }
    return number;
}

static void put_stacks(struct heaptrack *h)
{
    const struct stack_table *t = h->table;
    uint64_t *addresses = stack_table_addresses(t);
    struct strpool strings = {0};
    strpool_add(&strings, "");
    for (uint32_t i = 0; i < t->frames.frames.count; i++) {
        struct stack_frame f = stack_frame_of(&t->frames, i);
        uint32_t module = string_add(h, &strings, f.module), name = string_add(h, &strings, f.name),
                 file = string_add(h, &strings, f.file);
        strbuf_printf(&h->text, "i %" PRIx64 " %x %x", addresses[i], module, name);
        if (file)
            strbuf_printf(&h->text, " %x %x", file, f.line);
        strbuf_putc(&h->text, '\n');
        pack_some(h);
    }
    for (uint32_t n = 1; n < t->merged.parent.count; n++) {
        strbuf_printf(&h->text, "t %x %x\n", t->merged.key.items[n] + 1, t->merged.parent.items[n]);
        pack_some(h);
    }
    strpool_release(&strings);
    free(addresses);
}

static void put_infos(struct heaptrack *h)
{
    strbuf_puts(&h->text, "a 0 1\n"); /* number 0 means none, so it is never used */
    h->info_count = 1;
    for (size_t i = 0; i < h->table->rows.count; i++) {
        const struct site_blocks *s = &h->blocks.sites[i];
        for (unsigned c = 0; c < BLOCK_CLASSES; c++)
            for (unsigned copy = 0; copy < COPIES; copy++)
                for (unsigned size = 0; size < SIZES && s->of[c].count; size++) {
                    if (copy && c != BLOCKS_OTHER && c != BLOCKS_PEAK)
                        continue;
                    strbuf_printf(&h->text, "a %" PRIx64 " %x\n", blocks_size(&s->of[c], size),
                                  h->table->rows.items[i].node);
                    h->infos[i].of[c][copy][size] = h->info_count++;
                    pack_some(h);
                }
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void put_event(struct heaptrack *h, char sign, uint32_t info)
{
    char line[16];
    size_t at = sizeof line;
    line[--at] = '\n';
    do
        line[--at] = "0123456789abcdef"[info & 15];
    while (info >>= 4);
    line[--at] = ' ';
    line[--at] = sign;
    strbuf_add(&h->text, line + at, sizeof line - at);
    pack_some(h);
}

static void free_now(struct heaptrack *h, struct freed f)
{
    put_event(h, '-', f.info);
    h->live -= f.size;
    h->last = 0;
}

/* Frees blocks that had to wait until something else happened. */
static void free_deferred(struct heaptrack *h)
{
    for (size_t i = 0; i < h->deferred.count;) {
        if (h->deferred.items[i].info == h->last) {
            i++;
            continue;
        }
        free_now(h, h->deferred.items[i]);
        h->deferred.items[i] = *vec_last(&h->deferred);
        h->deferred.count--;
        i = 0;
    }
}

static void allocate(struct heaptrack *h, struct freed f)
{
    put_event(h, '+', f.info);
    h->live += f.size;
    h->most = h->live > h->most ? h->live : h->most;
    h->last = f.info;
}

static void release(struct heaptrack *h, struct freed f)
{
    if (f.info == h->last) {
        *vec_push(&h->deferred) = f;
        return;
    }
    free_now(h, f);
    free_deferred(h);
}

/* The k-th block of a class. */
static struct freed block_at(const struct heaptrack *h, uint32_t row, enum block_class class,
                             uint64_t k, unsigned copy)
{
    const struct blocks *b = &h->blocks.sites[row].of[class];
    unsigned size = k < blocks_smaller(b) ? SMALLER : LARGER;
    return (struct freed){h->infos[row].of[class][copy][size], blocks_size(b, size)};
}

/* The last block of the peak has a number of its own. */
static struct freed peak_block(const struct heaptrack *h, uint32_t row, uint64_t k)
{
    return block_at(h, row, BLOCKS_PEAK, k, k + 1 == h->blocks.sites[row].of[BLOCKS_PEAK].count);
}

/* The block whose allocation makes the peak, and which is freed at once, comes last. */
static bool is_withheld(const struct heaptrack *h, uint32_t row, uint64_t k)
{
    const struct site_blocks *s = &h->blocks.sites[row];
    return s->ends_peak && k + 1 == s->of[BLOCKS_PEAK].count;
}

static void rise(struct heaptrack *h, const struct site_step *s)
{
    struct infos *i = &h->infos[s->row];
    uint64_t stay = h->blocks.sites[s->row].of[BLOCKS_STAY].count;
    for (uint64_t n = 0; n < s->risen; n++) {
        if (i->done[BLOCKS_STAY] < stay) {
            allocate(h, block_at(h, s->row, BLOCKS_STAY, i->done[BLOCKS_STAY]++, 0));
        } else {
            uint64_t k = i->done[BLOCKS_PEAK]++;
            if (is_withheld(h, s->row, k))
                continue;
            allocate(h, peak_block(h, s->row, k));
        }
        free_deferred(h);
    }
}

static void fall(struct heaptrack *h, const struct site_step *s)
{
    struct infos *i = &h->infos[s->row];
    for (uint64_t n = 0; n < s->fallen; n++, i->freed++)
        if (!is_withheld(h, s->row, i->freed))
            release(h, peak_block(h, s->row, i->freed));
}

static void free_at_once(struct heaptrack *h, const struct site_step *s)
{
    uint64_t *done = h->infos[s->row].done;
    for (uint64_t n = 0; n < s->temporary; n++) {
        struct freed f = block_at(h, s->row, BLOCKS_TEMPORARY, done[BLOCKS_TEMPORARY]++, 0);
        allocate(h, f);
        free_now(h, f);
        if (h->deferred.count)
            free_deferred(h);
    }
}

static void free_soon(struct heaptrack *h, const struct site_step *s)
{
    uint64_t *done = h->infos[s->row].done;
    for (uint64_t n = 0; n < s->other; n++) {
        uint64_t k = done[BLOCKS_OTHER]++;
        struct freed f = block_at(h, s->row, BLOCKS_OTHER, k, k % COPIES);
        allocate(h, f);
        free_deferred(h);
        release(h, f);
    }
}

static void keep(struct heaptrack *h, const struct site_step *s)
{
    for (uint64_t n = 0; n < s->kept; n++) {
        allocate(h, block_at(h, s->row, BLOCKS_END, h->infos[s->row].done[BLOCKS_END]++, 0));
        free_deferred(h);
    }
}

static void end_peak(struct heaptrack *h)
{
    for (uint32_t i = 0; i < h->table->rows.count; i++)
        if (h->blocks.sites[i].ends_peak) {
            struct freed f = peak_block(h, i, h->blocks.sites[i].of[BLOCKS_PEAK].count - 1);
            allocate(h, f);
            free_now(h, f);
        }
}

static void put_resident(struct heaptrack *h, uint64_t until_ns)
{
    const struct profile *p = h->table->profile;
    for (; h->stamp < p->stamps.count && p->stamps.items[h->stamp].time_ns <= until_ns; h->stamp++)
        strbuf_printf(&h->text, "R %" PRIx64 "\n", p->stamps.items[h->stamp].rss_bytes >> 12);
}

static void put_events(struct heaptrack *h)
{
    static void (*const actions[])(struct heaptrack *, const struct site_step *) = {
        fall, free_soon, free_at_once, rise, keep};
    const struct profile *p = h->table->profile;
    const size_t *first = h->blocks.first;
    for (size_t i = 0; i < p->intervals.count; i++) {
        uint64_t end = p->intervals.items[i].end_ns;
        for (size_t half = 2 * i; half < 2 * i + 2; half++) {
            bool at_peak = i == h->blocks.peak && half == 2 * i;
            uint64_t time = at_peak ? p->peak_time_ns : end;
            if (first[half] == first[half + 1] && !at_peak)
                continue;
            strbuf_printf(&h->text, "c %" PRIx64 "\n", time / 1000000);
            for (size_t a = 0; a < sizeof actions / sizeof *actions; a++)
                for (size_t k = first[half]; k < first[half + 1]; k++)
                    actions[a](h, &h->blocks.steps.items[k]);
            if (at_peak)
                end_peak(h);
        }
        put_resident(h, end);
    }
    while (h->deferred.count) {
        free_now(h, *vec_last(&h->deferred));
        h->deferred.count--;
    }
    put_resident(h, UINT64_MAX);
    strbuf_printf(&h->text, "c %" PRIx64 "\n", p->duration_ns / 1000000);
}

static void note_differences(struct heaptrack *h)
{
    struct value peak = stack_table_sum(h->table, HEAPTRACK_PEAK);
    if (h->most != (uint64_t)peak.amount)
        say(h->e->notes,
            "tidemark export: the peak of this file is %d bytes, that of the recording %d\n",
            h->most, peak.amount);
    if (h->blocks.temporaries_missing)
        say(h->e->notes,
            "tidemark export: %N temporary allocation(s) that were live at the peak do not "
            "count as temporary in this file\n",
            h->blocks.temporaries_missing);
}

/* Every allocation is a line, so there must not be too many. */
static int check_count(const struct stack_table *t, struct err *err)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->rows.count; i++) {
        int64_t count = t->rows.items[i].values[HEAPTRACK_TOTAL].count;
        sum += count < 0 || count > ALLOCATIONS ? ALLOCATIONS + 1 : (uint64_t)count;
        if (sum > ALLOCATIONS)
            return err_set(err, -E2BIG,
                           "heaptrack's format has a line for each allocation, and there are more "
                           "than %d; choose some with --within or --ignore",
                           ALLOCATIONS);
    }
    return 0;
}

int export_heaptrack(struct export *e, struct err *err)
{
    static const struct stack_column columns[HEAPTRACK_COLUMNS] = {
        [HEAPTRACK_TOTAL] = {METRIC_TOTAL, SIZE_REQUESTED, false},
        [HEAPTRACK_PEAK] = {METRIC_PEAK, SIZE_REQUESTED, false},
        [HEAPTRACK_END] = {METRIC_LIVE, SIZE_REQUESTED, false},
        [HEAPTRACK_TEMPORARY] = {METRIC_TEMPORARY, SIZE_REQUESTED, false}};
    struct stack_table table;
    struct strbuf command = {0};
    int code = stack_table_init(&table, e->recording, e->query, columns, HEAPTRACK_COLUMNS, err);
    if (!code && (code = check_count(&table, err)))
        stack_table_release(&table);
    if (code)
        return code;
    struct heaptrack h = {.e = e,
                          .table = &table,
                          .compressor = libdeflate_alloc_compressor(6),
                          .infos = xcalloc(table.rows.count + 1, sizeof *h.infos)};
    must_alloc(h.compressor);
    heaptrack_blocks_init(&h.blocks, &table);
    profile_command(table.profile, &command);
    for (size_t i = 0; i < command.size; i++)
        if (command.data[i] == '\n')
            command.data[i] = ' ';
    strbuf_printf(&h.text, "v 10400 3\nX %s\nI 1000 0\n", command.data);
    put_stacks(&h);
    put_infos(&h);
    put_events(&h);
    pack(&h);
    note_differences(&h);
    heaptrack_blocks_release(&h.blocks);
    libdeflate_free_compressor(h.compressor);
    vec_release(&h.deferred);
    free(h.infos);
    strbuf_release(&h.text);
    strbuf_release(&command);
    stack_table_release(&table);
    return 0;
}
