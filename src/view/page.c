#include "view/page.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "view/stored_recording.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "unknown"
#endif

#define POLICY_PLACE  "<!-- tidemark:policy "
#define DATA_PLACE    "<!-- tidemark:data -->"
#define PLACE_END     " -->"
#define LEVEL         7
#define ELEMENT_BYTES (UINT64_C(24) << 20) /* size of one element; a multiple of 3 */
/* A page reads it into WebAssembly's 4 GiB, where it takes several times as much. */
#define EMBEDDED_MOST (UINT64_C(600) << 20)

char *page_name(const struct page *p, size_t which)
{
    const char *names[PAGE_FILES];
    for (size_t i = 0; i < p->files; i++)
        names[i] = path_base(p->paths[i]);
    bool alike = p->files > 1 && strcmp(names[0], names[1]) == 0;
    char *text = json_decoded(alike ? p->paths[which] : names[which]);
    if (*text != '-')
        return text;
    char *word = xasprintf("./%s", text); /* otherwise a command would take it for an option */
    free(text);
    return word;
}

static void add_base64(struct strbuf *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    strbuf_reserve(out, (size + 2) / 3 * 4 + 1);
    char *to = out->data + out->size;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16 |
                         (i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (i + 2 < size ? bytes[i + 2] : 0);
        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        *to++ = i + 1 < size ? digits[three >> 6 & 63] : '=';
        *to++ = i + 2 < size ? digits[three & 63] : '=';
    }
    out->size = (size_t)(to - out->data);
    strbuf_puts(out, ""); /* keeps it terminated */
}

/* Writes JSON into an element: characters that could end the element are escaped. */
static void add_json(struct strbuf *out, const char *id, const char *json)
{
    strbuf_printf(out, "<script type=\"application/json\" id=\"%s\">", id);
    for (const char *at = json; *at;) {
        size_t plain = strcspn(at, "<>&");
        strbuf_add(out, at, plain);
        at += plain;
        if (*at)
            strbuf_printf(out, "\\u%04x", (unsigned)*at++);
    }
    strbuf_puts(out, "</script>\n");
}

static void add_about(const struct page *p, struct strbuf *out)
{
    struct strbuf text = {0};
    struct json j;
    json_init(&j, &text);
    json_object(&j, NULL);
    json_string(&j, "mode", p->serve ? "serve" : "embedded");
    json_bool(&j, "live", p->live);
    json_string(&j, "version", TIDEMARK_VERSION);
    json_array(&j, "files");
    for (size_t i = 0; i < p->files; i++) {
        char *name = page_name(p, i);
        json_string(&j, NULL, name);
        free(name);
    }
    json_end(&j);
    json_end(&j);
    add_json(out, "tidemark-about", text.data);
    strbuf_release(&text);
}

static int add_recording(const struct page *p, size_t which, struct strbuf *out, struct err *err)
{
    struct strbuf stored = {0}, packed = {0};
    int status = stored_recording(p->paths[which], &stored, err);
    if (!status && stored.size > EMBEDDED_MOST)
        status = err_set(err, -E2BIG, "%s is too large for a page; use tidemark view --serve",
                         p->paths[which]);
    struct libdeflate_compressor *c = status ? NULL : libdeflate_alloc_compressor(LEVEL);
    if (c) {
        strbuf_reserve(&packed, libdeflate_gzip_compress_bound(c, stored.size));
        packed.size =
            libdeflate_gzip_compress(c, stored.data, stored.size, packed.data, packed.capacity);
        libdeflate_free_compressor(c);
    }
    if (!status && !packed.size)
        status = err_set(err, -ENOMEM, "cannot compress %s", p->paths[which]);
    for (size_t at = 0; !status && at < packed.size; at += ELEMENT_BYTES) {
        size_t part = packed.size - at < ELEMENT_BYTES ? packed.size - at : ELEMENT_BYTES;
        strbuf_printf(out, "<script type=\"text/plain\" class=\"tidemark-file-%zu\">", which);
        add_base64(out, (const uint8_t *)packed.data + at, part);
        strbuf_puts(out, "</script>\n");
    }
    strbuf_release(&stored);
    strbuf_release(&packed);
    return status;
}

static const char *find(const char *from, const char *end, const char *word)
{
    const char *at = memmem(from, (size_t)(end - from), word, strlen(word));
    return at ? at : end;
}

void page_policy(const struct page *p, struct strbuf *out)
{
    const char *end = p->template + p->template_size;
    const char *place = find(p->template, end, POLICY_PLACE);
    const char *hash = place < end ? place + strlen(POLICY_PLACE) : end;
    strbuf_puts(out, "default-src 'none'; script-src '");
    strbuf_add(out, hash, (size_t)(find(hash, end, PLACE_END) - hash));
    strbuf_printf(out,
                  "' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
                  "worker-src blob:; connect-src %s; base-uri 'none'; form-action 'none'",
                  p->serve ? "'self'" : "'none'");
}

int page_make(const struct page *p, struct strbuf *out, struct err *err)
{
    const char *end = p->template + p->template_size;
    const char *policy = find(p->template, end, POLICY_PLACE);
    const char *after = find(policy, end, PLACE_END), *data = find(after, end, DATA_PLACE);
    if (data == end)
        return err_set(err, -ENOSYS,
                       "this tidemark was built without the viewer (-Dviewer=enabled)");
    int status = 0;
    strbuf_add(out, p->template, (size_t)(policy - p->template));
    strbuf_puts(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    page_policy(p, out);
    strbuf_puts(out, "\">");
    after += strlen(PLACE_END);
    strbuf_add(out, after, (size_t)(data - after));
    add_about(p, out);
    if (p->limits)
        add_json(out, "tidemark-limits", p->limits);
    if (p->sources)
        add_json(out, "tidemark-sources", p->sources);
    for (size_t i = 0; !p->serve && i < p->files && !status; i++)
        status = add_recording(p, i, out, err);
    data += strlen(DATA_PLACE);
    strbuf_add(out, data, (size_t)(end - data));
    return status;
}
