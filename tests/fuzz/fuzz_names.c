/*
 * Any bytes as a symbol's name, as a hostile library may have it: demangled, taken apart, cut to
 * every width.
 */
#include "fuzz.h"

#include "base/err.h"
#include "model/function_name.h"
#include "symbol/demangle.h"

static void take_apart(const char *name)
{
    struct name_part part = name_bare(name);
    fuzz_must(part.text >= name && part.size <= strlen(name) &&
              part.text + part.size <= name + strlen(name));
    name_part_is_allocator(name_bare(name));
    name_part_is_std(name_bare(name));
    name_is(name, "f");
    fuzz_must(!*name || name_is(name, name));
    for (size_t width = 1; width < 80; width += 13) {
        struct strbuf out = {0};
        name_shorten(&out, name, width);
        fuzz_must(out.size <= strlen(name) + 8);
        strbuf_release(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = xstrndup((const char *)data, size);
    struct strbuf out = {0};
    name_is_mangled(name);
    strbuf_puts(&out, "");
    demangle(&out, name);
    fuzz_must(out.size <= 128 << 10);
    take_apart(name);
    if (out.size < 4096)
        take_apart(out.data);
    strbuf_release(&out);
    free(name);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    static const char *const names[] = {
        "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_",
        "_ZZN3app4mainEvENKUlT_E_clIiEEDaS0_.constprop.0",
        "_RNvCs15kBYyAo9fc_7mycrate7example",
        "_ZN4core3fmt5Write10write_char17h0123456789abcdefE",
        "memcpy@@GLIBC_2.14",
        "std::map<std::string, std::vector<int> >::operator[](std::string const&)",
        "operator new(unsigned long)",
        "<alloc::vec::Vec<T> as core::clone::Clone>::clone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[16];
        snprintf(file, sizeof file, "name%zu", i);
        fuzz_save(folder, file, names[i], strlen(names[i]));
    }
}
