#include "model/function_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "model/rust_std.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The position after the bracket that closes the one at s[i]; the end if none does. */
static size_t skip_brackets(const char *s, size_t i)
{
    int depth = 0;
    for (; s[i]; i++) {
        switch (s[i]) {
        case '(':
        case '<':
        case '{':
        case '[':
            depth++;
            break;
        case '>':
            if (i && s[i - 1] == '-') /* an arrow: -> */
                break;
            /* fall through */
        case ')':
        case '}':
        case ']':
            if (--depth == 0)
                return i + 1;
        }
    }
    return i;
}

/* Skips from "operator" to the argument list: the symbols in between are not brackets. */
static size_t skip_operator(const char *s, size_t i)
{
    i += strlen("operator");
    if (s[i] == '(' && s[i + 1] == ')')
        i += 2;
    while (s[i] && strchr("<>=!+-*/%^&|~,[]", s[i]))
        i++;
    while (s[i] && s[i] != '(')
        i = s[i] == '<' ? skip_brackets(s, i) : i + 1;
    return i;
}

static bool at_operator(const char *s, size_t i, size_t start)
{
    return s[i] == 'o' && text_begins(s + i, "operator") && !is_word(s[i + 8]) &&
           (i == start || s[i - 1] == ':');
}

struct name_part name_bare(const char *name)
{
    size_t start = 0, i = 0;
    if (name[0] == '[') /* not a function of the program: a pool, an unknown place */
        return (struct name_part){name, strlen(name)};
    while (name[i]) {
        if (at_operator(name, i, start)) {
            i = skip_operator(name, i);
            break;
        }
        if (name[i] == '(') {
            size_t after = skip_brackets(name, i);
            bool scope = text_begins(name + after, "::"); /* (anonymous namespace)::, f(int)::g */
            bool type = i - start == 8 && text_begins(name + start, "decltype");
            if (i > start && !scope && !type)
                break;
            i = after;
        } else if (name[i] == '<' || name[i] == '{') {
            i = skip_brackets(name, i);
        } else if (name[i] == ' ') {
            if (name[i + 1] == '[') /* "f [clone .cold]" */
                break;
            start = ++i;
        } else {
            i++;
        }
    }
    return (struct name_part){name + start, i - start};
}

static bool part_is(struct name_part part, const char *text)
{
    return strlen(text) == part.size && memcmp(part.text, text, part.size) == 0;
}

bool name_part_is_allocator(struct name_part bare)
{
    static const char *const names[] = {
        "operator new",
        "operator new[]",
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "posix_memalign",
        "aligned_alloc",
        "memalign",
        "valloc",
        "pvalloc",
        "mmap",
        "mmap64",
        "mremap",
        "__libc_malloc",
        "__libc_calloc",
        "__libc_realloc",
        "__libc_memalign",
        "__rust_alloc",
        "__rust_alloc_zeroed",
        "__rust_realloc",
        "__rdl_alloc",
        "__rdl_realloc",
        "__rdl_alloc_zeroed",
        "__rg_alloc",
        "__rg_realloc",
        "__rg_alloc_zeroed",
        "_Znwm",
        "_Znam",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
    };
    const char *at = memchr(bare.text, '@', bare.size); /* malloc@plt, malloc@@GLIBC_2.2.5 */
    if (at)
        bare.size = (size_t)(at - bare.text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (part_is(bare, names[i]))
            return true;
    return false;
}

bool name_part_is_announcement(struct name_part bare)
{
    static const char *const names[] = {"tide_alloc", "__tidemark_MOD_pool_alloc",
                                        "__tidemark_MOD_pool_alloc_short", "tidemark::pool_alloc",
                                        "tidemark::pool_alloc_short"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (part_is(bare, names[i]))
            return true;
    return false;
}

bool name_part_is_std(struct name_part bare)
{
    return text_begins(bare.text, "std::") || text_begins(bare.text, "__gnu_cxx::") ||
           rust_name_is_std(bare);
}

bool name_part_is_gpu(struct name_part bare)
{
    static const char *const begins[] = {"cudaMalloc",         "libcudart_static_",
                                         "at::detail::empty",  "at::detail::_empty",
                                         "at::native::empty_", "at::_ops::empty_"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (text_begins(bare.text, begins[i]))
            return true;
    return false;
}

/* The part after the last :: outside of brackets. */
static struct name_part last_component(struct name_part part)
{
    size_t i = 0, start = 0;
    while (i < part.size) {
        if (at_operator(part.text, i, start))
            break;
        if (strchr("(<{", part.text[i])) {
            i = skip_brackets(part.text, i);
        } else if (part.text[i] == ':' && i + 1 < part.size && part.text[i + 1] == ':') {
            start = i += 2;
        } else {
            i++;
        }
    }
    return (struct name_part){part.text + start, part.size - start};
}

struct name_part name_without_template(struct name_part part)
{
    if (part.size && part.text[part.size - 1] == '>' && !at_operator(part.text, 0, 0))
        for (size_t i = 1; i < part.size; i++)
            if (part.text[i] == '<' && i + skip_brackets(part.text + i, 0) == part.size)
                return (struct name_part){part.text, i};
    return part;
}

bool name_is(const char *name, const char *wanted)
{
    if (strcmp(name, wanted) == 0)
        return true;
    struct name_part bare = name_bare(name), last = last_component(bare);
    return part_is(bare, wanted) || part_is(name_without_template(bare), wanted) ||
           part_is(last, wanted) || part_is(name_without_template(last), wanted);
}

/* The name without the outermost namespace or class; unchanged if there is none. */
static struct name_part without_first(struct name_part part)
{
    for (size_t i = 0; i + 2 < part.size && !at_operator(part.text, i, 0);) {
        if (strchr("(<{", part.text[i]))
            i = skip_brackets(part.text, i);
        else if (part.text[i] == ':' && part.text[i + 1] == ':')
            return (struct name_part){part.text + i + 2, part.size - i - 2};
        else
            i++;
    }
    return part;
}

static size_t columns(const char *s, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80; /* in UTF-8, count first bytes only */
    return n;
}

static void add_cut(struct strbuf *out, const char *s, size_t size, size_t width)
{
    size_t room = columns(s, size) <= width ? size : width > 3 ? width - 3 : width, n = 0, i = 0;
    for (; i < size; i++) {
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
        if (n > room)
            break;
    }
    strbuf_add(out, s, i);
    if (i < size && width > 3)
        strbuf_puts(out, "...");
}

#define PAIR " < " /* between a function and its caller */

/* Where the caller of "function < caller" begins, with the sign before it; NULL: it is one name. An
 * expression in brackets may have the same sign. */
static const char *caller_of(const char *name)
{
    int depth = 0;
    for (const char *s = name; *s; s++) {
        depth += *s == '(' ? 1 : *s == ')' ? -1 : 0;
        if (!depth && s > name && strncmp(s, PAIR, strlen(PAIR)) == 0)
            return s;
    }
    return NULL;
}

/* The offset at the end of "library+0x1234", the name of a function without a symbol; NULL: it is
 * another name. */
static const char *offset_of(const char *name)
{
    const char *plus = strrchr(name, '+');
    bool hex = plus && text_begins(plus, "+0x") && plus[3];
    return hex && strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3) ? plus : NULL;
}

void name_shorten(struct strbuf *out, const char *name, size_t width)
{
    if (columns(name, strlen(name)) <= width) {
        strbuf_puts(out, name);
        return;
    }
    const char *caller = caller_of(name);
    if (caller && width > strlen(PAIR)) {
        size_t room = width - strlen(PAIR);
        char *own = xstrndup(name, (size_t)(caller - name));
        name_shorten(out, own, room - room / 2);
        strbuf_puts(out, PAIR);
        name_shorten(out, caller + strlen(PAIR), room / 2);
        free(own);
        return;
    }
    const char *offset = offset_of(name); /* the library's name alone is no function */
    if (offset && strlen(offset) + 4 <= width) {
        add_cut(out, name, (size_t)(offset - name), width - strlen(offset));
        strbuf_puts(out, offset);
        return;
    }
    struct name_part bare = name_bare(name);
    if (!bare.size)
        bare = (struct name_part){name, strlen(name)};
    if (columns(bare.text, bare.size) <= width) {
        strbuf_add(out, bare.text, bare.size);
        return;
    }
    struct strbuf plain = {0};
    for (size_t i = 0; i < bare.size;) {
        if (at_operator(bare.text, i, 0)) {
            strbuf_add(&plain, bare.text + i, bare.size - i);
            break;
        }
        bool arguments = bare.text[i] == '<' && i && bare.text[i - 1] != '.'; /* f.<locals>.g */
        size_t after = arguments ? skip_brackets(bare.text, i) : i + 1;
        if (after > i + 1)
            strbuf_puts(&plain, "<>");
        else
            strbuf_putc(&plain, bare.text[i]);
        i = after;
    }
    struct name_part rest = {plain.data ? plain.data : "", plain.size};
    while (columns(rest.text, rest.size) > width) { /* the last component says most */
        struct name_part inner = without_first(rest);
        if (inner.size == rest.size)
            break;
        rest = inner;
    }
    add_cut(out, rest.text, rest.size, width);
    strbuf_release(&plain);
}
