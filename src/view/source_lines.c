#include "view/source_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

#define AROUND     5
#define BYTES_MOST (4u << 20)
#define LINE_MOST  400

struct place {
    const char *file;
    uint32_t line;
};

static int by_file_and_line(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void put_line(struct json *j, const struct source *s, uint32_t line)
{
    size_t size;
    const char *text = source_line_text(s, line, &size);
    if (!text)
        return;
    char *copy = xstrndup(text, size < LINE_MOST ? size : LINE_MOST);
    json_array(j, NULL);
    json_u64(j, NULL, line);
    json_string(j, NULL, copy);
    json_end(j);
    free(copy);
}

/* The lines of one file: its places are sorted. */
static void put_file(struct json *j, const struct source *s, const struct place *places,
                     size_t count, struct source_lines *found)
{
    uint32_t next = 1;
    json_array(j, places->file);
    for (size_t i = 0; i < count; i++) {
        uint32_t first = places[i].line > AROUND ? places[i].line - AROUND : 1;
        uint32_t last = places[i].line + AROUND;
        for (uint32_t line = first > next ? first : next; line <= last; line++) {
            size_t size;
            if (!source_line_text(s, line, &size))
                break;
            put_line(j, s, line);
            found->lines++;
        }
        next = last >= next ? last + 1 : next;
    }
    json_end(j);
    found->files++;
}

void source_lines_json(const struct recording *const *recordings, size_t count,
                       const struct source_paths *paths, struct strbuf *out,
                       struct source_lines *found)
{
    VEC(struct place) places = {0};
    struct json j;
    *found = (struct source_lines){0};
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < recordings[i]->profiles.count; p++) {
            const struct profile *profile = &recordings[i]->profiles.items[p];
            for (size_t f = 0; f < profile->frames.count; f++) {
                const struct frame *frame = &profile->frames.items[f];
                if (frame->file && frame->line && frame->line < UINT32_MAX - AROUND)
                    *vec_push(&places) = (struct place){
                        strpool_get(&recordings[i]->strings, frame->file), frame->line};
            }
        }
    if (places.count)
        qsort(places.items, places.count, sizeof *places.items, by_file_and_line);
    json_init(&j, out);
    json_object(&j, NULL);
    for (size_t i = 0, end; i < places.count; i = end) {
        struct source source = {0};
        for (end = i + 1;
             end < places.count && strcmp(places.items[end].file, places.items[i].file) == 0;)
            end++;
        if (out->size > BYTES_MOST) {
            found->cut = true;
            break;
        }
        struct strbuf tried = {0};
        source_read(&source, paths, places.items[i].file, &tried);
        if (source.path)
            put_file(&j, &source, &places.items[i], end - i, found);
        else
            found->missing++;
        strbuf_release(&tried);
        source_release(&source);
    }
    json_end(&j);
    vec_release(&places);
}
