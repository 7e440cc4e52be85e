#include "store/reader.h"

#include <errno.h>
#include <string.h>

#include "store/chunk.h"
#include "store/chunk_decode.h"
#include "store/rows.h"

/* Says what a file is instead of a recording, if its first bytes show that. */
static int refuse(const char *first, size_t size, const char *name, struct err *err)
{
    static const struct {
        const char *magic;
        size_t size;
        const char *how, *with;
    } packed[] = {{"\x1f\x8b", 2, "gzip", "gzip -dk"},
                  {"\x28\xb5\x2f\xfd", 4, "zstd", "zstd -dk"},
                  {"\xfd"
                   "7zXZ",
                   5, "xz", "xz -dk"},
                  {"BZh", 3, "bzip2", "bzip2 -dk"}};
    if (size == 0)
        return err_set(err, -EBADMSG, "%s is empty, not a tidemark recording", name);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (size >= packed[i].size && memcmp(first, packed[i].magic, packed[i].size) == 0)
            return err_set(err, -EBADMSG, "%s is compressed with %s; unpack it first: %s %s", name,
                           packed[i].how, packed[i].with, name);
    if (size < FILE_HEADER && memcmp(first, FILE_MAGIC, size < 8 ? size : 8) == 0)
        return err_set(err, -EBADMSG, "%s is a tidemark recording cut at byte %zu: nothing is left",
                       name, size);
    return err_set(err, -EBADMSG, "%s is not a tidemark recording", name);
}

int recording_take_header(struct chunk_source *s, const char *name, struct err *err)
{
    uint32_t version;
    int64_t n = chunk_source_take(s, FILE_HEADER);
    if (n < 0)
        return err_set(err, (int)n, "cannot read %s: %s", name, strerror((int)-n));
    if (n < FILE_HEADER || memcmp(s->held.data, FILE_MAGIC, 8) != 0)
        return refuse(s->held.data, (size_t)n, name, err);
    memcpy(&version, s->held.data + 8, 4);
    if (version != FILE_VERSION)
        return err_set(err, -EBADMSG, "%s has format version %u; this tidemark reads version %d",
                       name, version, FILE_VERSION);
    return 0;
}

/* Of the processes that are not chosen, only their identity is read, and what the choice depends on
 * (model/process_choice.h). */
static bool is_wanted(const struct chunk *c, const struct reader_choice *only)
{
    return chunk_is_known(c->type) &&
           (!only || only->process == READER_ALL || c->process == only->process ||
            c->type == CHUNK_PROCESS || c->type == CHUNK_SAMPLING || c->type == CHUNK_NOTES ||
            c->type == CHUNK_MARKS || c->type == CHUNK_GPU || c->type == CHUNK_STRINGS ||
            c->type == CHUNK_DEFAULTS);
}

/* Returns -E2BIG if what is wanted unpacks to more than its limit. Nothing is unpacked for that. */
static int check_size(struct chunk_source *s, const struct reader_choice *only)
{
    uint64_t unpacked = 0;
    struct chunk chunk;
    while (unpacked <= only->most && chunk_next(s, &chunk, NULL) > 0)
        unpacked += is_wanted(&chunk, only) ? chunk.raw : 0;
    return unpacked > only->most ? -E2BIG : 0;
}

/* Reads chunks up to the end or the first damage. Returns 0, or a negative errno and a sentence. */
static int take_chunks(struct chunk_source *s, const struct reader_choice *only,
                       struct recording *r, struct err *damage)
{
    struct strbuf raw = {0};
    uint64_t unpacked = 0, taken = 0;
    int status;
    struct chunk chunk;
    while ((status = chunk_next(s, &chunk, damage)) > 0) {
        if (chunk.type == CHUNK_DONE) {
            r->complete = true;
            continue;
        }
        if (!is_wanted(&chunk, only))
            continue;
        unpacked += chunk.raw;
        status = unpacked > CHUNKS_RAW_FREE + s->offset * CHUNK_RATIO
                     ? err_set(damage, -EBADMSG, "the file unpacks to more than it can hold")
                     : chunk_unpack(&chunk, &raw, damage);
        if (status)
            break;
        uint64_t may = MEMORY_FREE + s->offset * MEMORY_RATIO, room = may - taken;
        struct cursor c = {.at = (const uint8_t *)raw.data,
                           .end = (const uint8_t *)raw.data + raw.size,
                           .room = &room};
        chunk_decode(&chunk, &c, r);
        taken = may - room;
        if (c.bad) {
            status = room ? err_set(damage, -EBADMSG, "a chunk before byte %llu makes no sense",
                                    (unsigned long long)s->offset)
                          : err_set(damage, -EBADMSG, "the file unpacks to more than it can hold");
            break;
        }
    }
    strbuf_release(&raw);
    return status;
}

int recording_take(struct chunk_source *s, const char *name, const struct reader_choice *only,
                   struct recording **out, struct err *err)
{
    struct err damage;
    int status = recording_take_header(s, name, err);
    if (status)
        return status;
    if (only && only->most < UINT64_MAX) {
        if (check_size(s, only))
            return err_set(err, -E2BIG, "%s is too large to look at here", name);
        status = chunk_source_rewind(s);
        if (status)
            return err_set(err, status, "cannot read %s twice: %s", name, strerror(-status));
        chunk_source_take(s, FILE_HEADER);
    }
    struct recording *r = recording_new();
    status = take_chunks(s, only, r, &damage);
    if (status < 0) {
        r->complete = false;
        r->incomplete = xasprintf("%s; what came before it is shown", damage.text);
    } else if (!r->complete) {
        r->incomplete = xstrdup("the file has no end mark: recording was cut short");
    }
    if (!r->profiles.count) {
        recording_free(r);
        return err_set(err, -EBADMSG, "%s holds no whole profile", name);
    }
    for (size_t i = 0; i < r->profiles.count; i++)
        chunks_make_consistent(&r->profiles.items[i], r);
    *out = r;
    return 0;
}

int recording_parse(const void *bytes, size_t size, const char *name, struct recording **out,
                    struct err *err)
{
    return recording_parse_some(bytes, size, name, NULL, out, err);
}

int recording_parse_some(const void *bytes, size_t size, const char *name,
                         const struct reader_choice *only, struct recording **out, struct err *err)
{
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(bytes, size);
    int status = recording_take(&source, name, only, out, err);
    chunk_source_release(&source);
    return status;
}
