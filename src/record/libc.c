#include "record/libc.h"

#include <dlfcn.h>
#include <string.h>

#include "record/find_export.h"

struct libc libc;

static void *find_in(const struct link_map *m, const char *name)
{
    struct exports x;
    exports_read(&x, m);
    const ElfW(Sym) *s = m->l_ld ? exports_find(&x, name) : NULL;
    return s ? (void *)(uintptr_t)(x.base + s->st_value) : NULL;
}

/* In the order in which they were loaded, which for the files that the program starts with is the
 * order in which the loader searches. `after`: only files after this one. */
static void *find_from(const struct link_map *after, const char *name)
{
    const struct link_map *m = after ? after->l_next : _r_debug.r_map;
    void *found = NULL;
    for (; m && !found; m = m->l_next)
        found = find_in(m, name);
    return found;
}

static const struct link_map *own_map(void)
{
    const struct link_map *m = _r_debug.r_map;
    while (m && m->l_ld != _DYNAMIC)
        m = m->l_next;
    return m;
}

static void find(void *slot, size_t size, const char *name)
{
    void *there, *found;
    memcpy(&there, slot, size);
    if (!there && (found = find_from(own_map(), name)))
        memcpy(slot, &found, size);
}
#define FIND(field, name) find(&libc.field, sizeof libc.field, name)

/* The function of libc itself: a library that is preloaded, as faketime is, may define another. */
static void *find_in_libc(const char *name)
{
    const struct link_map *m = _r_debug.r_map;
    while (m && !find_in(m, "gnu_get_libc_version"))
        m = m->l_next;
    return m ? find_in(m, name) : NULL;
}

void libc_find_missing(void)
{
    void *clock = libc.clock_gettime ? NULL : find_in_libc("clock_gettime");
    if (clock)
        memcpy(&libc.clock_gettime, &clock, sizeof clock);

    FIND(find_object, "_dl_find_object");
    FIND(single_threaded, "__libc_single_threaded");
    FIND(dlsym, "dlsym");
    FIND(dlerror, "dlerror");
    FIND(attr_getstacksize, "pthread_attr_getstacksize");
    FIND(getcpuclockid, "pthread_getcpuclockid");
    FIND(key_create, "pthread_key_create");
    FIND(getspecific, "pthread_getspecific");
    FIND(setspecific, "pthread_setspecific");
    libc.searched = true;
}

void *libc_find(const char *name)
{
    return find_from(own_map(), name);
}

void *libc_next(const char *name)
{
    if (!libc.searched)
        libc_find_missing();
    return libc.dlsym ? libc.dlsym(RTLD_NEXT, name) : libc_find(name);
}

void *libc_default(const char *name)
{
    if (!libc.searched)
        libc_find_missing();
    return libc.dlsym ? libc.dlsym(RTLD_DEFAULT, name) : find_from(NULL, name);
}
