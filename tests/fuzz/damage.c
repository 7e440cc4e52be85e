/*
 * damage FILE: opens a recording cut at every length, with every bit flipped, and with every byte
 * of every chunk's contents changed under a checksum that is right. Prints how many of each opened.
 *
 * Built with sanitizers by scripts/fuzz.sh. A file that is refused has a sentence; one that opens
 * and is not as it was says what is missing.
 */
#include <stdio.h>

#include "look.h"
#include "store/chunk.h"
#include "store/reader.h"

struct tally {
    unsigned long tried, opened, whole;
};

static bool is_sentence(const char *text)
{
    return strlen(text) > 10 && !strchr(text, '\n');
}

static void try_bytes(struct tally *t, const char *bytes, size_t size)
{
    struct recording *r = NULL;
    struct err err = {{0}};
    char *exact = xmalloc(size); /* a read beyond its end must be seen */
    memcpy(exact, bytes, size);
    t->tried++;
    if (recording_parse(exact, size, "damaged.tide", &r, &err) == 0) {
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
        try_bytes(&t, file->data, size);
    report_tally("cut at every length", &t);
    look_must(t.whole == 0 && t.opened > 0);
}

static void flip(struct strbuf *file)
{
    struct tally t = {0};
    for (size_t bit = 0; bit < file->size * 8; bit++) {
        file->data[bit / 8] ^= (char)(1 << bit % 8);
        try_bytes(&t, file->data, file->size);
        file->data[bit / 8] ^= (char)(1 << bit % 8);
    }
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
    try_bytes(t, other.data, other.size);
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
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    look_must(f != NULL);
    for (int c; (c = getc(f)) != EOF;)
        strbuf_putc(&file, (char)c);
    fclose(f);
    cut(&file);
    flip(&file);
    change(&file);
    strbuf_release(&file);
    return 0;
}
