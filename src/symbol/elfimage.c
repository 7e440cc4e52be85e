#include "symbol/elfimage.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* Debug sections compress to a third or a quarter; beyond this ratio the file is taken for a
 * bomb. */
#define EXPANSION_MAX   32
#define EXPANSION_SLACK (64u << 20)

static bool name_is_debug(const char *name)
{
    return text_begins(name, ".debug_") || text_begins(name, ".zdebug_");
}

/* libdw decompresses every debug section when a Dwarf is opened, so their sizes are checked
 * before. */
static uint64_t section_uncompressed_bytes(Elf_Scn *section, const GElf_Shdr *header,
                                           const char *name)
{
    GElf_Chdr compressed;
    if (header->sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(section, &compressed) ? compressed.ch_size : 0;
    if (name[1] != 'z')
        return 0;
    ssize_t size = dwelf_scn_gnu_compressed_size(section);
    return size > 0 ? (uint64_t)size : 0;
}

static void elf_image_survey(struct elf_image *image)
{
    size_t names;
    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    uint64_t limit = (uint64_t)image->size_bytes * EXPANSION_MAX + EXPANSION_SLACK, total = 0;
    bool has_info = false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        uint64_t end = header.sh_addr + header.sh_size;
        if ((header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
            end > header.sh_addr)
            nested_ranges_add(&image->code, header.sh_addr, end, (uint32_t)elf_ndxscn(section));
        if (header.sh_type == SHT_SYMTAB)
            image->has_symtab = true;
        const char *name = elf_strptr(image->elf, names, header.sh_name);
        if (!name || header.sh_type == SHT_NOBITS || !name_is_debug(name))
            continue;
        uint64_t bytes = section_uncompressed_bytes(section, &header, name);
        total = bytes > limit ? UINT64_MAX : total + bytes;
        if (total > limit)
            break;
        if (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)
            has_info = true;
    }
    nested_ranges_flatten(&image->code);
    image->has_dwarf = has_info && total <= limit;
}

/* Is it a section that we do not read, but that libdw would decompress all the same? */
static bool name_is_unread(const char *name)
{
    static const char *const unread[] = {"aranges", "frame", "loc",      "loclists",
                                         "macinfo", "macro", "pubnames", "pubtypes"};
    name += name[1] == 'z' ? strlen(".zdebug_") : strlen(".debug_");
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (strcmp(name, unread[i]) == 0)
            return true;
    return false;
}

void elf_image_hide_unread(const struct elf_image *image)
{
    size_t names;
    if (!image->is_ours || elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(image->elf, names, header.sh_name) : NULL;
        if (!name || !name_is_debug(name) || !name_is_unread(name))
            continue;
        header.sh_type = SHT_NOBITS; /* in our private pages of the file */
        gelf_update_shdr(section, &header);
    }
}

/* Private writable pages count as data even if nobody writes to them: a limit on data (ulimit -d),
 * or a machine that does not overcommit memory, may refuse them for a large file. */
static bool may_be_ours(int fd, size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    return pages != MAP_FAILED && munmap(pages, size) == 0;
}

int elf_image_open(struct elf_image *image, const char *path)
{
    *image = (struct elf_image){0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat status;
    int code = -ENOEXEC;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        goto out;
    image->size_bytes = (size_t)status.st_size;
    image->is_ours = may_be_ours(fd, image->size_bytes);
    image->elf = elf_begin(fd, image->is_ours ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ_MMAP, NULL);
    if (!image->elf)
        goto out;
    elf_cntl(image->elf, ELF_C_FDDONE);
    if (elf_kind(image->elf) != ELF_K_ELF) {
        elf_image_release(image);
        goto out;
    }
    elf_image_survey(image);
    code = 0;
out:
    close(fd);
    return code;
}

void elf_image_release(struct elf_image *image)
{
    nested_ranges_release(&image->code);
    if (image->elf)
        elf_end(image->elf);
    if (image->unpacked)
        munmap(image->unpacked, image->unpacked_size);
    *image = (struct elf_image){0};
}

size_t elf_image_build_id(const struct elf_image *image, const uint8_t **id)
{
    const void *bytes;
    ssize_t size = dwelf_elf_gnu_build_id(image->elf, &bytes);
    if (size <= 0)
        return 0;
    *id = bytes;
    return (size_t)size;
}

bool elf_image_build_id_is(const struct elf_image *image, const uint8_t *id, size_t size)
{
    const uint8_t *own = NULL;
    return size && elf_image_build_id(image, &own) == size && memcmp(own, id, size) == 0;
}

const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t address, size_t *size)
{
    size_t count, file_size;
    const char *file = elf_rawfile(image->elf, &file_size);
    if (!file || elf_getphdrnum(image->elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(image->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        uint64_t into = address - segment.p_vaddr, left = segment.p_filesz - into;
        if (segment.p_offset > file_size || into >= file_size - segment.p_offset)
            return NULL;
        uint64_t at = segment.p_offset + into;
        *size = (size_t)(left < file_size - at ? left : file_size - at);
        return (const uint8_t *)file + at;
    }
    return NULL;
}

Elf_Data *elf_image_section(const struct elf_image *image, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(image->elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *own = elf_strptr(image->elf, names, header.sh_name);
        if (own && (strcmp(own, name) == 0 ||
                    (text_begins(own, ".z") && strcmp(own + 2, name + 1) == 0))) {
            Elf_Data *data = elf_getdata(section, NULL);
            return data && data->d_buf && data->d_size ? data : NULL;
        }
    }
    return NULL;
}

const char *elf_linked_text(Elf *elf, const GElf_Shdr *header, size_t *size)
{
    Elf_Scn *section = elf_getscn(elf, header->sh_link);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    const char *text = data ? data->d_buf : NULL;
    if (!text || !data->d_size || text[data->d_size - 1] != '\0')
        return NULL;
    *size = data->d_size;
    return text;
}

void elf_image_discard_pages(const struct elf_image *image, const Elf_Data *data)
{
    size_t size;
    const char *file = elf_rawfile(image->elf, &size), *at = data ? data->d_buf : NULL;
    if (!file || !at || (uintptr_t)at < (uintptr_t)file || data->d_size > size ||
        (uintptr_t)at - (uintptr_t)file > size - data->d_size)
        return; /* libelf made a copy */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)at + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)at + data->d_size) & ~(page - 1);
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

uint32_t elf_image_crc(const struct elf_image *image)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = (value & 1) ? 0xedb88320u ^ (value >> 1) : value >> 1;
        table[i] = value;
    }
    size_t size;
    const uint8_t *bytes = (const uint8_t *)elf_rawfile(image->elf, &size);
    uint32_t crc = ~0u;
    for (size_t i = 0; bytes && i < size; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}
