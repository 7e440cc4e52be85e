/*
 * damage FILE HOW...: opens a recording
 *     cut      at every length
 *     flip     with every bit flipped
 *     change   with every byte of every chunk's contents changed under a checksum that is right
 * and prints how many of each opened.
 *
 * Built with sanitizers by scripts/fuzz.sh. A file that is refused has a sentence; one that opens
 * and is not as it was says what is missing.
 */
#include <stdio.h>

#include "look.h"
#include "store/chunk.h"
#include "store/reader.h"
#include "store/writer.h"

struct tally {
    unsigned long tried, opened, whole;
};

static bool is_sentence(const char *text)
{
    return strlen(text) > 10 && !strchr(text, '\n');
}

/* Is this what was opened before? Then nothing new would be seen in it. */
static bool is_as_before(struct strbuf *before, const struct recording *r)
{
    struct strbuf now = {0};
    recording_write(&now, r);
    bool same = now.size == before->size && memcmp(now.data, before->data, now.size) == 0;
    strbuf_release(before);
    *before = now;
    return same;
}

/* `before` is what was opened last, or NULL: to be looked at in any case. */
static void try_bytes(struct tally *t, const char *bytes, size_t size, struct strbuf *before)
{
    struct recording *r = NULL;
    struct err err = {{0}};
    char *exact = xmalloc(size); /* a read beyond its end must be seen */
    memcpy(exact, bytes, size);
    t->tried++;
    if (recording_parse(exact, size, "damaged.tide", &r, &err) == 0) {
        if (!before || !is_as_before(before, r))
            look(r, t->tried * UINT64_C(0x9e3779b97f4a7c15) >> 20);
        look_must(r->complete || is_sentence(r->incomplete));
        t->opened++;
        t->whole += r->complete;
    } else {
        look_must(r == NULL && is_sentence(err.text));
    }
    recording_free(r);
    free(exact);
}

static void report_tally(const char *what, const struct tally *t)
{
    printf("%s: %lu files, %lu opened, %lu of them whole\n", what, t->tried, t->opened, t->whole);
}

static void cut(const struct strbuf *file)
{
    struct tally t = {0};
    for (size_t size = 0; size < file->size; size++)
        try_bytes(&t, file->data, size, NULL);
    report_tally("cut at every length", &t);
    look_must(t.whole == 0 && t.opened > 0);
}

/* The bits of a byte mostly do the same: the chunk's checksum is wrong, and it is left out. */
static void flip(struct strbuf *file)
{
    struct tally t = {0};
    struct strbuf before = {0};
    for (size_t bit = 0; bit < file->size * 8; bit++) {
        if (bit % 8 == 0)
            strbuf_clear(&before);
        file->data[bit / 8] ^= (char)(1 << bit % 8);
        try_bytes(&t, file->data, file->size, &before);
        file->data[bit / 8] ^= (char)(1 << bit % 8);
    }
    strbuf_release(&before);
    report_tally("every bit flipped", &t);
    look_must(t.whole == 32); /* four bytes of the header are not looked at */
}

/* The file with one chunk, from `start` to `end`, replaced by one with these contents. */
static void try_replaced(struct tally *t, const struct strbuf *file, size_t start, size_t end,
                         const struct chunk *chunk, const struct strbuf *raw)
{
    struct strbuf other = {0};
    strbuf_add(&other, file->data, start);
    chunk_append(&other, (enum chunk_type)chunk->type, chunk->process, raw);
    strbuf_add(&other, file->data + end, file->size - end);
    try_bytes(t, other.data, other.size, NULL);
    strbuf_release(&other);
}

static void change(const struct strbuf *file)
{
    struct tally t = {0};
    struct chunk_source source = CHUNK_SOURCE_OF_BYTES(file->data, file->size);
    struct strbuf raw = {0};
    struct chunk chunk;
    struct err err;
    source.offset = FILE_HEADER;
    for (size_t start = FILE_HEADER; chunk_next(&source, &chunk, &err) > 0;) {
        look_must(chunk_unpack(&chunk, &raw, &err) == 0);
        for (size_t at = 0; at < raw.size; at++) {
            static const unsigned char others[] = {0x01, 0x80, 0xff};
            for (size_t k = 0; k < sizeof others; k++) {
                raw.data[at] ^= (char)others[k];
                try_replaced(&t, file, start, (size_t)source.offset, &chunk, &raw);
                raw.data[at] ^= (char)others[k];
            }
        }
        start = (size_t)source.offset;
    }
    chunk_source_release(&source);
    strbuf_release(&raw);
    report_tally("every content byte changed", &t);
    look_must(t.opened > 0);
}

int main(int argc, char **argv)
{
    struct strbuf file = {0};
    FILE *f = argc > 2 ? fopen(argv[1], "rb") : NULL;
    look_must(f != NULL);
    for (int c; (c = getc(f)) != EOF;)
        strbuf_putc(&file, (char)c);
    fclose(f);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "cut") == 0)
            cut(&file);
        else if (strcmp(argv[i], "flip") == 0)
            flip(&file);
        else
            change(&file);
    }
    strbuf_release(&file);
    return 0;
}
