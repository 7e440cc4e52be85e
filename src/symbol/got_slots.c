#include "symbol/got_slots.h"

#include <gelf.h>
#include <string.h>

static const char *symbol_name(const struct elf_image *image, size_t table, size_t number)
{
    Elf_Scn *section = elf_getscn(image->elf, table);
    GElf_Shdr header;
    GElf_Sym symbol;
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    if (!data || !gelf_getshdr(section, &header) || number > INT32_MAX ||
        !gelf_getsym(data, (int)number, &symbol))
        return NULL;
    const char *name = elf_strptr(image->elf, header.sh_link, symbol.st_name);
    return name && *name ? name : NULL;
}

const char *slot_name(const struct elf_image *image, uint64_t slot)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        GElf_Rela relocation;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !header.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && (uint64_t)i < header.sh_size / header.sh_entsize; i++)
            if (gelf_getrela(data, i, &relocation) && relocation.r_offset == slot)
                return symbol_name(image, header.sh_link, GELF_R_SYM(relocation.r_info));
    }
    return NULL;
}

bool stub_slot(const struct elf_image *image, uint64_t address, uint64_t *slot)
{
    static const uint8_t branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    size_t size = 0, at = 0;
    const uint8_t *code =
        spans_find(&image->code, address) ? elf_image_bytes(image, address, &size) : NULL;
    if (!code || size < 16)
        return false;
    if (memcmp(code, branch_target, sizeof branch_target) == 0)
        at += sizeof branch_target;
    at += code[at] == 0xf2;                       /* bnd */
    if (code[at] != 0xff || code[at + 1] != 0x25) /* jmp *offset(%rip) */
        return false;
    int32_t offset;
    memcpy(&offset, code + at + 2, sizeof offset);
    *slot = address + at + 6 + (uint64_t)(int64_t)offset;
    return true;
}
