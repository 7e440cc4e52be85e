/* Any bytes as /tmp/perf-PID.map: names are found where they are said to be, and nowhere else. */
#include "fuzz.h"

#include "base/err.h"
#include "collect/naming/jit_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jit_names j = {0};
    struct strpool strings = {0};
    struct module made = {.path = (char *)"//anon"};
    strpool_add(&strings, "");
    jit_names_parse(&j, xstrndup((const char *)data, size));
    for (size_t i = 0; i < j.items.count; i++) {
        const struct jit_name *n = &j.items.items[i];
        struct frame f;
        fuzz_must(n->start < n->end && *n->name && !strchr(n->name, '\n'));
        fuzz_must(i == 0 || n[-1].start <= n->start);
        fuzz_must(jit_names_find(&j, n->start) != NULL);
        fuzz_must(jit_names_frame(&j, &made, n->start, &strings, &f));
        fuzz_must(f.function < strings.strings.count && f.file < strings.strings.count);
    }
    jit_names_release(&j);
    strpool_release(&strings);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char usual[] = "7fe9573e4000 b py::_find_and_load:<frozen importlib._bootstrap>\n"
                                "7fe9573e4010 b py::C.f:/a/b.py\n"
                                "7fe9573e4010 20 LazyCompile:~main /a/b.js:1\n";
    fuzz_save(folder, "usual", usual, sizeof usual - 1);
}
