#include "model/comparable_name.h"

#include <string.h>
#include <xxhash.h>

#include "base/path.h"
#include "base/text.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* The length of a suffix like ".isra.0" of a name that ends at `end`; 0: none. */
static size_t suffix_size(const char *name, const char *end)
{
    static const char *const words[] = {".constprop", ".isra", ".part",     ".cold",
                                        ".clone",     ".llvm", ".lto_priv", ".localalias"};
    const char *s = end;
    while (s > name && is_digit(s[-1]))
        s--;
    if (s == end || s == name || s[-1] != '.')
        return 0;
    s--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(s - name) > size && memcmp(s - size, words[i], size) == 0)
            return (size_t)(end - s) + size;
    }
    return 0;
}

/* How many characters to leave out at `s`, inside `name`; 0: none. */
static size_t mark_size(const char *name, const char *s, bool numbers)
{
    if (text_begins(s, "[abi:") || text_begins(s, " [clone ") || text_begins(s, " (.")) {
        const char *end = strpbrk(s + 2, "])");
        return end ? (size_t)(end - s) + 1 : 0;
    }
    if (!numbers)
        return 0;
    size_t n = digits(s + 1);
    if (*s == '#' && n && s[n + 1] == '}')
        return n + 1;
    n = digits(s);
    if (!n || s == name)
        return 0;
    if (s - name >= 2 && memcmp(s - 2, "$_", 2) == 0 && !is_word(s[n]))
        return n;
    return s - name >= 7 && memcmp(s - 7, "'lambda", 7) == 0 && s[n] == '\'' ? n : 0;
}

void comparable_name(struct strbuf *out, const char *name, bool without_numbers)
{
    const char *end = name + strlen(name);
    for (size_t n; (n = suffix_size(name, end)) > 0;)
        end -= n;
    strbuf_puts(out, "");
    for (const char *s = name; s < end;) {
        size_t n = mark_size(name, s, without_numbers);
        if (n && s > name) {
            s += n;
            continue;
        }
        strbuf_putc(out, *s++);
    }
}

static bool is_named(const struct module *m, const char *name, size_t size)
{
    const char *base = m->path ? path_base(m->path) : "";
    return strncmp(base, name, size) == 0 && !base[size];
}

/* Does `other` have the identical library of that name? */
static bool has_same(const struct profile *own, const struct recording *other, const char *name,
                     size_t size)
{
    for (size_t i = 0; i < own->modules.count; i++) {
        const struct module *m = &own->modules.items[i];
        if (!m->build_id_size || !is_named(m, name, size))
            continue;
        for (size_t k = 0; k < other->profiles.count; k++)
            for (size_t n = 0; n < other->profiles.items[k].modules.count; n++) {
                const struct module *o = &other->profiles.items[k].modules.items[n];
                if (o->build_id_size == m->build_id_size && is_named(o, name, size) &&
                    memcmp(o->build_id, m->build_id, m->build_id_size) == 0)
                    return true;
            }
    }
    return false;
}

/* Makes the name without numbers, and the key of all names that it stands for; false: it has no
 * numbers. */
static bool numberless(const char *name, struct strbuf *out, uint64_t *key)
{
    if (!strpbrk(name, "#$'"))
        return false;
    strbuf_clear(out);
    comparable_name(out, name, true);
    size_t size = out->size;
    *key = XXH3_64bits(out->data, size);
    struct strbuf with = {0};
    comparable_name(&with, name, false);
    bool has = with.size != size;
    strbuf_release(&with);
    return has;
}

static void gather(struct map *m, const struct recording *r)
{
    struct strbuf plain = {0};
    uint64_t key;
    for (size_t i = 0; i < r->strings.strings.count; i++) {
        const char *name = r->strings.strings.items[i];
        if (!numberless(name, &plain, &key))
            continue;
        uint32_t *sum = map_at(m, key), one = (uint32_t)XXH3_64bits(name, strlen(name));
        *sum = (*sum == MAP_NONE ? 0 : *sum) + one;
        *sum -= *sum == MAP_NONE;
    }
    strbuf_release(&plain);
}

void comparable_names_init(struct comparable_names *o, const struct recording *own,
                           const struct profile *profile, const struct recording *other)
{
    *o = (struct comparable_names){.own = profile, .other = other};
    gather(&o->numbered[0], own);
    gather(&o->numbered[1], other);
}

void comparable_names_release(struct comparable_names *o)
{
    map_release(&o->numbered[0]);
    map_release(&o->numbered[1]);
}

/* In "libx.so+0x12", the position of "+"; NULL: it is a function's name. */
static const char *offset_in(const char *name)
{
    const char *plus = strrchr(name, '+');
    return plus && plus > name && text_begins(plus, "+0x") && plus[3] &&
                   !plus[3 + strspn(plus + 3, "0123456789abcdef")]
               ? plus
               : NULL;
}

void comparable_names_name(const struct comparable_names *o, struct strbuf *out, const char *name)
{
    const char *plus = offset_in(name);
    if (plus && has_same(o->own, o->other, name, (size_t)(plus - name))) {
        strbuf_puts(out, name);
    } else if (plus) {
        strbuf_add(out, name, (size_t)(plus - name));
        strbuf_puts(out, *name == '[' ? "" : " (no symbols)");
    } else {
        struct strbuf plain = {0};
        uint64_t key = 0;
        bool drop = numberless(name, &plain, &key) &&
                    map_get(&o->numbered[0], key) != map_get(&o->numbered[1], key);
        strbuf_release(&plain);
        comparable_name(out, name, drop);
    }
}
