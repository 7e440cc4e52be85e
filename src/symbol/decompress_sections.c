#include "symbol/decompress_sections.h"

#include <gelf.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "base/vec.h"

#define ALIGNMENT ((size_t)64)
#define RATIO_MAX 1032 /* deflate cannot exceed this ratio: a header that claims more is damaged */

struct packed {
    Elf_Scn *section;
    const uint8_t *from;
    size_t from_size, size, offset; /* offset: its place in image->unpacked */
};

/* Is it a section that libdw or we read? Others stay as they are. */
static bool name_is_read(const char *name)
{
    static const char *const read[] = {"abbrev", "addr", "info",        "line",  "line_str",
                                       "ranges", "str",  "str_offsets", "types", "rnglists"};
    if (!name || !text_begins(name, ".debug_"))
        return false;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (strcmp(name + 7, read[i]) == 0)
            return true;
    return false;
}

static bool is_packed(const struct elf_image *image, Elf_Scn *section, size_t names,
                      struct packed *out)
{
    GElf_Shdr header;
    GElf_Chdr how;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
        !(header.sh_flags & SHF_COMPRESSED) ||
        !name_is_read(elf_strptr(image->elf, names, header.sh_name)) ||
        !gelf_getchdr(section, &how) || how.ch_type != ELFCOMPRESS_ZLIB || !how.ch_size)
        return false;
    const Elf_Data *data = elf_rawdata(section, NULL);
    size_t before = gelf_fsize(image->elf, ELF_T_CHDR, 1, EV_CURRENT);
    if (!data || !data->d_buf || data->d_size <= before ||
        how.ch_size / RATIO_MAX > data->d_size - before)
        return false;
    *out = (struct packed){.section = section,
                           .from = (const uint8_t *)data->d_buf + before,
                           .from_size = data->d_size - before,
                           .size = how.ch_size};
    return true;
}

static void put_data(Elf_Data *data, uint8_t *bytes, size_t size)
{
    data->d_buf = bytes;
    data->d_size = size;
    data->d_type = ELF_T_BYTE;
    data->d_align = 1;
}

/* Leaves the section as elf_compress(section, 0, 0) would, except that the bytes belong to the
 * image. */
static void put_section(const struct packed *p, uint8_t *bytes)
{
    GElf_Shdr header;
    Elf_Data *raw = elf_rawdata(p->section, NULL), *data = elf_getdata(p->section, NULL);
    if (!raw || !data || !gelf_getshdr(p->section, &header))
        return;
    header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
    header.sh_size = p->size;
    header.sh_addralign = 1;
    if (!gelf_update_shdr(p->section, &header))
        return;
    put_data(raw, bytes, p->size);
    put_data(data, bytes, p->size);
}

/* Saves page faults: decompressed sections take several megabytes. */
static uint8_t *huge_room(size_t size)
{
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    if (size >= HUGE_PAGE)
        madvise(room, size, MADV_HUGEPAGE);
    return room;
}

void elf_image_unpack(struct elf_image *image)
{
    VEC(struct packed) list = {0};
    struct libdeflate_decompressor *inflater = NULL;
    size_t names, size = 0;
    struct packed p;
    if (!image->is_ours || image->unpacked || elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        if (!is_packed(image, section, names, &p))
            continue;
        p.offset = size;
        size += (p.size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        *vec_push(&list) = p;
    }
    if (!size || !(image->unpacked = huge_room(size)))
        goto out;
    image->unpacked_size = size;
    inflater = libdeflate_alloc_decompressor();
    for (size_t i = 0; i < list.count && inflater; i++) {
        const struct packed *k = &list.items[i];
        uint8_t *bytes = image->unpacked + k->offset;
        if (libdeflate_zlib_decompress(inflater, k->from, k->from_size, bytes, k->size, NULL) ==
            LIBDEFLATE_SUCCESS)
            put_section(k, bytes);
    }
    libdeflate_free_decompressor(inflater);
out:
    vec_release(&list);
}
