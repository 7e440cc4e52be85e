/* Any bytes as a message of pprof. */
#include "import.h"

FUZZ_IMPORTER("pprof")

/* A field that holds bytes, all of them short. */
static void put(struct strbuf *b, int number, const char *bytes, size_t size)
{
    strbuf_putc(b, (char)(number << 3 | 2));
    strbuf_putc(b, (char)size);
    strbuf_add(b, bytes, size);
}

void fuzz_seeds(const char *folder)
{
    static const char *const strings[] = {"",         "alloc_space", "bytes", "inuse_space", "f",
                                          "/bin/app", "thread",      "cpu",   "nanoseconds"};
    struct strbuf b = {0};
    put(&b, 1, "\x08\x01\x10\x02", 4);
    put(&b, 1, "\x08\x03\x10\x02", 4);
    put(&b, 1, "\x08\x07\x10\x08", 4);
    put(&b, 2, "\x0a\x02\x01\x01\x12\x03\x64\x0a\x05\x1a\x04\x08\x06\x10\x04", 15);
    put(&b, 3, "\x08\x01\x28\x05", 4);
    put(&b, 4, "\x08\x01\x10\x01\x18\x7f\x22\x04\x08\x01\x10\x03", 12);
    put(&b, 5, "\x08\x01\x10\x04\x20\x04", 6);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        put(&b, 6, strings[i], strlen(strings[i]));
    strbuf_add(&b, "\x50\x7f\x60\x02", 4);
    fuzz_save(folder, "both", b.data, b.size);
    strbuf_release(&b);
}
