#include "collect/leakscan/lsan_default_suppressions.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "symbol/elfimage.h"

#define CODE_MOST 64      /* bytes: a longer function does more than return a string */
#define TEXT_MOST 1000000 /* the same limit as for a suppression file */

static bool find_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, GElf_Sym *found)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 1; i < count && i <= INT_MAX; i++) {
        if (!gelf_getsym(data, (int)i, found))
            return false;
        const char *name = GELF_ST_TYPE(found->st_info) == STT_FUNC && found->st_shndx != SHN_UNDEF
                               ? elf_strptr(elf, header->sh_link, found->st_name)
                               : NULL;
        if (name && strcmp(name, LSAN_FUNCTION) == 0)
            return true;
    }
    return false;
}

static bool find_function(Elf *elf, GElf_Sym *found)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
            find_in(elf, section, &header, found))
            return true;
    }
    return false;
}

/* The address that the code puts into x0 by adrp and add; 0: it does something else. */
static uint64_t address_in_x0(const uint8_t *code, size_t size, uint64_t address)
{
    uint32_t words[2];
    for (size_t at = 0; at + sizeof words <= size; at += 4) {
        memcpy(words, code + at, sizeof words);
        if ((words[0] & 0x9f00001f) != 0x90000000 || (words[1] & 0xffc003ff) != 0x91000000)
            continue;
        uint64_t pages = (words[0] >> 29 & 3) | (words[0] >> 5 & 0x7ffff)
                                                    << 2; /* 21 bits, signed */
        pages = (uint64_t)((int64_t)(pages << 43) >> 43);
        return ((address + at) & ~UINT64_C(4095)) + pages * 4096 + (words[1] >> 10 & 0xfff);
    }
    return 0;
}

/* The address that the code puts into rax by a lea or a mov of a constant; 0: it does something
 * else. */
static uint64_t address_in_rax(const uint8_t *code, size_t size, uint64_t address)
{
    for (size_t at = 0; at + 5 <= size; at++) {
        int32_t near;
        if (at + 7 <= size && memcmp(code + at, "\x48\x8d\x05", 3) == 0) {
            memcpy(&near, code + at + 3, 4);
            return address + at + 7 + (uint64_t)(int64_t)near;
        }
        if (code[at] == 0xb8 && (at == 0 || code[at - 1] != 0x48)) {
            memcpy(&near, code + at + 1, 4);
            return (uint64_t)(uint32_t)near;
        }
    }
    return 0;
}

char *lsan_default_suppressions(const char *path, bool *unread)
{
    struct elf_image image;
    GElf_Sym function;
    char *text = NULL;
    *unread = false;
    elf_version(EV_CURRENT);
    if (elf_image_open(&image, path) != 0)
        return NULL;
    if (find_function(image.elf, &function)) {
        size_t size = 0, room = 0;
        const uint8_t *code = elf_image_bytes(&image, function.st_value, &size);
        size = size < function.st_size ? size : function.st_size;
        GElf_Ehdr header;
        bool arm = gelf_getehdr(image.elf, &header) && header.e_machine == EM_AARCH64;
        uint64_t at = !code || size > CODE_MOST ? 0
                      : arm                     ? address_in_x0(code, size, function.st_value)
                                                : address_in_rax(code, size, function.st_value);
        const char *found = at ? (const char *)elf_image_bytes(&image, at, &room) : NULL;
        room = room < TEXT_MOST ? room : TEXT_MOST;
        if (found && memchr(found, '\0', room))
            text = xstrdup(found);
        *unread = !text;
    }
    elf_image_release(&image);
    return text;
}
