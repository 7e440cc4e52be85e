/*
 * What the fuzzers of importers share: bytes are imported; what comes out must be a whole
 * recording, of which a few questions are asked as of any other.
 */
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H

#include "fuzz.h"

#include <xxhash.h>

#include "import/import.h"
#include "look.h"
#include "store/reader.h"

static inline void fuzz_import(const struct import_format *format, const uint8_t *data, size_t size)
{
    struct import_request request = {.path = "fuzz", .metric = size % IMPORT_METRICS};
    struct strbuf bytes = {0};
    struct recording *r;
    struct input in;
    struct err err = {{0}};
    char *exact = xmalloc(size); /* a read beyond its end must be seen */
    memcpy(exact, data, size);
    if (input_of_bytes(&in, exact, size, "fuzz", &err) == 0) {
        int code = import_take(&request, &in, format, &bytes, &err);
        fuzz_must(code <= 0 && (!code || *err.text));
        if (!code) {
            fuzz_must(recording_parse(bytes.data, bytes.size, "fuzz.tide", &r, &err) == 0);
            fuzz_must(r->complete && r->profiles.items[0].imported.from);
            look(r, XXH64(data, size, 0));
            recording_free(r);
        }
        input_release(&in);
    }
    strbuf_release(&bytes);
    free(exact);
}

#define FUZZ_IMPORTER(format)                                                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        fuzz_import(import_format_named(format), data, size);                                      \
        return 0;                                                                                  \
    }

static inline void fuzz_import_text(const char *folder, const char *name, const char *text)
{
    fuzz_save(folder, name, text, strlen(text));
}

#endif
