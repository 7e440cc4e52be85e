#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "base/text.h"

/* The longest name that is demangled; libiberty recurses once for each byte in the worst case. */
#define MANGLED_MAX 4096
/* libiberty refuses names longer than this unless its limit on recursion is off. */
#define MANGLED_LIMITED_MAX (DEMANGLE_RECURSION_LIMIT / 2)
#define DEMANGLED_MAX       (64u << 10)
/* The longest name that is kept. */
#define NAME_LENGTH_MAX (64u << 10)

static const char *const clone_words[] = {"constprop", "part",     "isra",       "cold",
                                          "clone",     "lto_priv", "localalias", "llvm",
                                          "__uniq",    "warm",     "hot",        "unlikely"};

static bool text_is_digits(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return size > 0;
}

static bool text_is_clone_word(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof clone_words / sizeof *clone_words; i++)
        if (strlen(clone_words[i]) == size && memcmp(clone_words[i], text, size) == 0)
            return true;
    return false;
}

/* The start of the last suffix like ".part" or ".part.0"; `size` if the name has none. */
static size_t clone_suffix_start(const char *name, size_t size)
{
    const char *dot = memrchr(name, '.', size);
    if (!dot || dot == name)
        return size;
    size_t start = (size_t)(dot - name);
    if (text_is_clone_word(dot + 1, size - start - 1))
        return start;
    if (!text_is_digits(dot + 1, size - start - 1))
        return size;
    const char *word = memrchr(name, '.', start);
    if (!word)
        return start; /* a function nested in another (GNU C), or an LTO copy */
    size_t word_start = (size_t)(word - name);
    return text_is_clone_word(word + 1, start - word_start - 1) ? word_start : size;
}

/* How much of `name` is the function's own. */
static size_t name_own_size(const char *name)
{
    size_t size = strnlen(name, NAME_LENGTH_MAX);
    const char *version = size > 1 ? memchr(name + 1, '@', size - 1) : NULL;
    if (version)
        size = (size_t)(version - name);
    for (size_t cut; (cut = clone_suffix_start(name, size)) < size;)
        size = cut;
    return size;
}

struct output {
    struct strbuf *out;
    size_t start;
    jmp_buf too_long;
};

/* The libiberty functions that call this keep nothing on the heap, so they can be left early. */
static void output_add(const char *text, size_t size, void *opaque)
{
    struct output *output = opaque;
    if (output->out->size - output->start + size > DEMANGLED_MAX)
        longjmp(output->too_long, 1);
    strbuf_add(output->out, text, size);
}

static bool output_fill(struct output *output, const char *mangled, int options)
{
    if (setjmp(output->too_long))
        return false;
    if (rust_demangle_callback(mangled, (options & DMGL_PARAMS) | DMGL_ANSI, output_add, output))
        return true;
    output->out->size = output->start;
    return cplus_demangle_v3_callback(mangled, options, output_add, output);
}

/* Does it end in "::h0123456789abcdef": a legacy Rust name that only the C++ demangler
 * understood? */
static bool text_ends_in_rust_hash(const char *text, size_t size)
{
    if (size <= 19 || memcmp(text + size - 19, "::h", 3) != 0)
        return false;
    return strspn(text + size - 16, "0123456789abcdef") == 16;
}

bool name_is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static void demangle_with(struct strbuf *out, const char *name, int options)
{
    if (text_begins(name, "__GI_") && name[5])
        name += 5;
    size_t size = name_own_size(name);
    struct output output = {.out = out, .start = out->size};
    if (size > 2 && name_is_mangled(name) && size <= MANGLED_MAX) {
        char text[MANGLED_MAX + 1];
        memcpy(text, name, size);
        text[size] = '\0';
        if (size > MANGLED_LIMITED_MAX)
            options |= DMGL_NO_RECURSE_LIMIT;
        if (output_fill(&output, text, options) && out->size > output.start) {
            if (text_ends_in_rust_hash(out->data + output.start, out->size - output.start))
                out->data[out->size -= 19] = '\0';
            return;
        }
        out->size = output.start;
    }
    strbuf_add(out, name, size);
}

void demangle(struct strbuf *out, const char *name)
{
    demangle_with(out, name, DMGL_PARAMS | DMGL_ANSI);
}

void demangle_qualified(struct strbuf *out, const char *name)
{
    demangle_with(out, name, DMGL_ANSI);
}

size_t name_without_clone(const char *name)
{
    return name_own_size(name);
}
