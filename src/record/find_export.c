#include "record/find_export.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void exports_read(struct exports *x, const struct link_map *m)
{
    *x = (struct exports){.base = m->l_addr};
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
        /* The loader has added the base, unless the table is read-only. */
        uint64_t p = d->d_un.d_ptr < x->base ? d->d_un.d_ptr + x->base : d->d_un.d_ptr;
        const void *at = (const void *)(uintptr_t)p;
        if (d->d_tag == DT_SONAME)
            x->own_name = d->d_un.d_val;
        if (d->d_tag == DT_SYMTAB)
            x->symbols = at;
        else if (d->d_tag == DT_STRTAB)
            x->strings = at;
        else if (d->d_tag == DT_GNU_HASH)
            x->gnu_hash = at;
        else if (d->d_tag == DT_HASH)
            x->hash = at;
        else if (d->d_tag == DT_VERSYM)
            x->versions = at;
    }
}

static bool is_named(const struct exports *x, uint32_t i, const char *name)
{
    return strcmp(x->strings + x->symbols[i].st_name, name) == 0;
}

/* Of several versions, those for old programs are hidden. */
static bool is_hidden(const struct exports *x, const ElfW(Sym) * s)
{
    return x->versions && x->versions[s - x->symbols] & 0x8000;
}

const ElfW(Sym) * exports_find(const struct exports *x, const char *name)
{
    const ElfW(Sym) *found = NULL;
    if (!x->symbols || !x->strings)
        return NULL;
    if (x->gnu_hash) {
        const uint32_t *h = x->gnu_hash, *buckets = h + 4 + 2 * (size_t)h[2],
                       *chains = buckets + h[0];
        uint32_t wanted = 5381;
        for (const char *c = name; *c; c++)
            wanted = wanted * 33 + (uint8_t)*c;
        uint32_t i = h[0] ? buckets[wanted % h[0]] : 0;
        for (; i >= h[1] && i && (!found || is_hidden(x, found)); i++) {
            if ((chains[i - h[1]] | 1) == (wanted | 1) && is_named(x, i, name))
                found = &x->symbols[i];
            if (chains[i - h[1]] & 1)
                break;
        }
    } else if (x->hash) {
        for (uint32_t i = 1; i < x->hash[1] && (!found || is_hidden(x, found)); i++)
            if (is_named(x, i, name))
                found = &x->symbols[i];
    }
    return found && found->st_shndx != SHN_UNDEF && found->st_value ? found : NULL;
}

uint32_t exports_count(const struct exports *x)
{
    if (!x->symbols)
        return 0;
    if (!x->gnu_hash)
        return x->hash ? x->hash[1] : 0;
    const uint32_t *h = x->gnu_hash, *buckets = h + 4 + 2 * (size_t)h[2], *chains = buckets + h[0];
    uint32_t last = 0;
    for (uint32_t i = 0; i < h[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < h[1])
        return h[1];
    while (!(chains[last - h[1]] & 1))
        last++;
    return last + 1;
}
