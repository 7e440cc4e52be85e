#include "model/rust_std.h"

#include <string.h>

#include "base/text.h"

static bool begins(struct name_part part, const char *text)
{
    size_t size = strlen(text);
    return part.size >= size && memcmp(part.text, text, size) == 0;
}

static struct name_part from(struct name_part part, size_t at)
{
    return (struct name_part){part.text + at, part.size - at};
}

/* C++ has namespaces named core and alloc as well, so modules of the library are listed in full. */
static bool path_is_std(struct name_part path)
{
    static const char *const crates[] = {"std::", "hashbrown::", "__rustc::", "__rustc["};
    static const char *const modules[] = {
        "alloc", "any",  "array",       "borrow",  "boxed",   "bstr",  "cell", "char",
        "clone", "cmp",  "collections", "convert", "default", "ffi",   "fmt",  "future",
        "hash",  "hint", "intrinsics",  "iter",    "mem",     "num",   "ops",  "option",
        "pin",   "ptr",  "raw_vec",     "rc",      "result",  "slice", "str",  "string",
        "sync",  "task", "vec",         "wtf8",
    };
    for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
        if (begins(path, crates[i]))
            return true;
    if (!begins(path, "alloc::") && !begins(path, "core::"))
        return false;
    path = from(path, begins(path, "core::") ? 6 : 7);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (begins(path, modules[i]) && begins(from(path, strlen(modules[i])), "::"))
            return true;
    return false;
}

/* u8, [T], &str, alloc::vec::Vec<T>: everything except the types of other crates. */
static bool type_is_std(struct name_part type)
{
    static const char *const before[] = {"&", "*const ", "*mut ", "mut ", "dyn ", "[", "(", "<"};
    size_t i = 0, word = 0;
    while (i < sizeof before / sizeof *before) {
        bool is = begins(type, before[i]);
        type = from(type, is ? strlen(before[i]) : 0);
        i = is ? 0 : i + 1;
    }
    while (word < type.size && !strchr(" <>()[]{},;:&*", type.text[word]))
        word++;
    bool has_path = begins(from(type, word), "::") || begins(from(type, word), "[");
    return !has_path || path_is_std(type);
}

/* The position of the bracket that closes the first one; the end if there is none. */
static size_t closing(struct name_part part)
{
    int depth = 0;
    for (size_t i = 0; i < part.size; i++) {
        bool arrow = i && part.text[i] == '>' && part.text[i - 1] == '-';
        if (strchr("<([{", part.text[i]))
            depth++;
        else if (strchr(">)]}", part.text[i]) && !arrow && --depth == 0)
            return i;
    }
    return part.size;
}

/* The position of " as " outside brackets; the end if there is none. */
static size_t find_as(struct name_part part)
{
    for (size_t i = 0; i < part.size; i++) {
        if (strchr("<([{", part.text[i]))
            i += closing(from(part, i));
        else if (begins(from(part, i), " as "))
            return i;
    }
    return part.size;
}

bool rust_name_is_std(struct name_part bare)
{
    if (!bare.size || bare.text[bare.size] == '(') /* C++: names in Rust have no arguments */
        return false;
    if (bare.text[0] != '<')
        return path_is_std(bare);
    size_t end = closing(bare);
    if (end == bare.size)
        return false;
    struct name_part inner = {bare.text + 1, end - 1};
    size_t as = find_as(inner);
    if (as == inner.size)
        return type_is_std(inner);
    struct name_part type = {inner.text, as}, trait = from(inner, as + 4);
    return begins(trait, "core::alloc::") || (path_is_std(trait) && type_is_std(type));
}

bool rust_file_is_std(const char *path)
{
    const char *library = strstr(path, "/library/");
    bool whose = text_begins(path, "/rustc/") || strstr(path, "/rustlib/src/rust/");
    return (library && whose) || strstr(path, "/hashbrown-");
}
