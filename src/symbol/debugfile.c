#include "symbol/debugfile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
    const uint8_t *build_id;
    size_t build_id_size;
    bool crc_known;
    uint32_t crc;
    bool needs_dwarf; /* symbols alone are no use */
};

static bool image_is_wanted(const struct elf_image *image, const struct wanted *wanted)
{
    if (!image->has_dwarf && (wanted->needs_dwarf || !image->has_symtab))
        return false;
    const uint8_t *id;
    if (wanted->build_id_size && elf_image_build_id(image, &id))
        return elf_image_build_id_is(image, wanted->build_id, wanted->build_id_size);
    return wanted->crc_known && elf_image_crc(image) == wanted->crc;
}

static bool candidate_open(const char *path, const struct wanted *wanted, struct elf_image *found)
{
    if (elf_image_open(found, path) != 0)
        return false;
    if (image_is_wanted(found, wanted))
        return true;
    elf_image_release(found);
    return false;
}

static bool build_id_open(const char *root, const struct wanted *wanted, struct elf_image *found,
                          struct strbuf *path)
{
    if (wanted->build_id_size < 2)
        return false;
    strbuf_clear(path);
    strbuf_printf(path, "%s/.build-id/%02x/", root, wanted->build_id[0]);
    for (size_t i = 1; i < wanted->build_id_size; i++)
        strbuf_printf(path, "%02x", wanted->build_id[i]);
    strbuf_puts(path, ".debug");
    return candidate_open(path->data, wanted, found);
}

static bool debuglink_open_beside(const char *root, const char *path, const char *link,
                                  const struct wanted *wanted, struct elf_image *found,
                                  struct strbuf *found_path)
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 1;
    const char *directory = slash ? path : ".";
    const struct {
        const char *before, *after;
    } places[] = {{"", ""}, {"", "/.debug"}, {root, ""}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        strbuf_clear(found_path);
        strbuf_printf(found_path, "%s%s%.*s%s/%s", places[i].before,
                      *places[i].before && *directory != '/' ? "/" : "", length, directory,
                      places[i].after, link);
        if (candidate_open(found_path->data, wanted, found))
            return true;
    }
    return false;
}

int debugfile_find(const char *root, const char *path, const struct elf_image *main,
                   struct elf_image *found, struct strbuf *found_path)
{
    struct wanted wanted = {0};
    wanted.build_id_size = elf_image_build_id(main, &wanted.build_id);
    if (build_id_open(root, &wanted, found, found_path))
        return 0;

    GElf_Word crc;
    const char *link = dwelf_elf_gnu_debuglink(main->elf, &crc);
    if (!link || !*link || strchr(link, '/') || strlen(link) > NAME_MAX || strlen(path) > PATH_MAX)
        return -ENOENT;
    wanted.crc_known = true;
    wanted.crc = crc;
    if (debuglink_open_beside(root, path, link, &wanted, found, found_path))
        return 0;
    /* If /lib is a link to /usr/lib, the debug file of /lib/x.so is below one of the two names. */
    char *real = realpath(path, NULL);
    bool opened = real && strcmp(real, path) != 0 &&
                  debuglink_open_beside(root, real, link, &wanted, found, found_path);
    free(real);
    return opened ? 0 : -ENOENT;
}

int debugfile_find_alt(const char *root, const char *path, Dwarf *dwarf, struct elf_image *found)
{
    const char *link;
    const void *build_id;
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &build_id);
    if (size <= 0 || !*link || strlen(link) > PATH_MAX)
        return -ENOENT;
    struct wanted wanted = {
        .build_id = build_id, .build_id_size = (size_t)size, .needs_dwarf = true};
    struct strbuf try = {0};
    bool opened = build_id_open(root, &wanted, found, &try);
    if (!opened) {
        /* Relative to where the file really is, not to the link in .build-id/ that led to it. */
        char *real = realpath(path, NULL);
        const char *slash = real ? strrchr(real, '/') : NULL;
        strbuf_clear(&try);
        if (*link != '/' && slash)
            strbuf_printf(&try, "%.*s/", (int)(slash - real), real);
        strbuf_puts(&try, link);
        opened = candidate_open(try.data, &wanted, found);
        free(real);
    }
    const char *tail = strstr(link, ".dwz/");
    if (!opened && tail) {
        strbuf_clear(&try);
        strbuf_printf(&try, "%s/%s", root, tail);
        opened = candidate_open(try.data, &wanted, found);
    }
    strbuf_release(&try);
    return opened ? 0 : -ENOENT;
}
