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

/* jmp *offset(%rip), perhaps after endbr64 and bnd. */
static bool x86_64_slot(const uint8_t *code, uint64_t address, uint64_t *slot)
{
    static const uint8_t branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    size_t at = memcmp(code, branch_target, sizeof branch_target) == 0 ? sizeof branch_target : 0;
    at += code[at] == 0xf2; /* bnd */
    if (code[at] != 0xff || code[at + 1] != 0x25)
        return false;
    int32_t offset;
    memcpy(&offset, code + at + 2, sizeof offset);
    *slot = address + at + 6 + (uint64_t)(int64_t)offset;
    return true;
}

/* adrp x16, page; ldr x17, [x16, #offset]; perhaps after bti. */
static bool aarch64_slot(const uint8_t *code, uint64_t address, uint64_t *slot)
{
    uint32_t words[3];
    memcpy(words, code, sizeof words);
    const uint32_t *at = words + ((words[0] & 0xffffff3f) == 0xd503241f);
    if ((at[0] & 0x9f00001f) != 0x90000010 || (at[1] & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t pages = (at[0] >> 29 & 3) | (at[0] >> 5 & 0x7ffff) << 2; /* 21 bits, signed */
    pages = (uint64_t)((int64_t)(pages << 43) >> 43);
    address += (uint64_t)(at - words) * 4;
    *slot = (address & ~UINT64_C(4095)) + pages * 4096 + (at[1] >> 10 & 0xfff) * 8;
    return true;
}

bool stub_slot(const struct elf_image *image, unsigned machine, uint64_t address, uint64_t *slot)
{
    size_t size = 0;
    const uint8_t *code =
        nested_ranges_find(&image->code, address) ? elf_image_bytes(image, address, &size) : NULL;
    if (!code || size < 16)
        return false;
    return machine == EM_X86_64    ? x86_64_slot(code, address, slot)
           : machine == EM_AARCH64 ? aarch64_slot(code, address, slot)
                                   : false;
}
