#include "symbol/disassembler.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT(x)    TEXT_OF(x)
#define TEXT_OF(x) #x
#define CAPSTONE   "libcapstone.so." TEXT(CS_API_MAJOR)

/* Its functions, as the header declares them. */
struct capstone {
    void *library;
    __typeof__(&cs_open) open;
    __typeof__(&cs_close) close;
    __typeof__(&cs_option) option;
    __typeof__(&cs_malloc) make;
    __typeof__(&cs_free) free;
    __typeof__(&cs_disasm_iter) next;
    __typeof__(&cs_insn_group) group;
};

static int capstone_load(struct capstone *c, struct err *err)
{
    c->library = dlopen(CAPSTONE, RTLD_NOW | RTLD_LOCAL);
    if (c->library && (c->open = dlsym(c->library, "cs_open")) &&
        (c->close = dlsym(c->library, "cs_close")) &&
        (c->option = dlsym(c->library, "cs_option")) &&
        (c->make = dlsym(c->library, "cs_malloc")) && (c->free = dlsym(c->library, "cs_free")) &&
        (c->next = dlsym(c->library, "cs_disasm_iter")) &&
        (c->group = dlsym(c->library, "cs_insn_group")))
        return 0;
    return err_set(err, -ENOENT, "%s cannot be loaded; it is Debian's package libcapstone%d",
                   CAPSTONE, CS_API_MAJOR);
}

struct disassembler {
    struct capstone capstone;
    csh engine;
    cs_insn *instruction;
    size_t shortest;
};

struct disassembler *disassembler_new(unsigned machine, struct err *err)
{
    static const struct {
        unsigned machine;
        cs_arch arch;
        cs_mode mode;
        size_t shortest;
    } known[] = {{EM_X86_64, CS_ARCH_X86, CS_MODE_64, 1},
                 {EM_386, CS_ARCH_X86, CS_MODE_32, 1},
                 {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, 4}};
    struct disassembler *d = xcalloc(1, sizeof *d);
    if (capstone_load(&d->capstone, err))
        goto failed;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].machine != machine ||
            d->capstone.open(known[i].arch, known[i].mode, &d->engine) != CS_ERR_OK)
            continue;
        d->shortest = known[i].shortest;
        /* Where there is a choice. */
        d->capstone.option(d->engine, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
        d->capstone.option(d->engine, CS_OPT_DETAIL, CS_OPT_ON); /* needed for jump targets */
        d->instruction = must_alloc(d->capstone.make(d->engine));
        return d;
    }
    err_set(err, -ENOTSUP, "its machine (number %u in ELF) is not known here", machine);
failed:
    disassembler_free(d);
    return NULL;
}

void disassembler_free(struct disassembler *d)
{
    if (!d)
        return;
    if (d->instruction) {
        d->capstone.free(d->instruction, 1);
        d->capstone.close(&d->engine);
    }
    if (d->capstone.library)
        dlclose(d->capstone.library);
    free(d);
}

static void note_target(struct disassembler *d, struct instruction_text *out)
{
    const cs_detail *detail = d->instruction->detail;
    if (!d->capstone.group(d->engine, d->instruction, CS_GRP_CALL) &&
        !d->capstone.group(d->engine, d->instruction, CS_GRP_JUMP))
        return;
    const cs_x86_op *x86 = &detail->x86.operands[0];
    const cs_arm64_op *arm = &detail->arm64.operands[0];
    bool is_x86 = d->shortest == 1 && detail->x86.op_count == 1;
    bool is_arm = d->shortest == 4 && detail->arm64.op_count == 1;
    if (is_x86 && x86->type == X86_OP_MEM && x86->mem.base == X86_REG_RIP &&
        x86->mem.index == X86_REG_INVALID) {
        out->has_slot = true;
        out->target = d->instruction->address + d->instruction->size + (uint64_t)x86->mem.disp;
    } else if ((is_x86 && x86->type == X86_OP_IMM) || (is_arm && arm->type == ARM64_OP_IMM)) {
        out->has_target = true;
        out->target = (uint64_t)(is_x86 ? x86->imm : arm->imm);
    }
}

void disassemble(struct disassembler *d, const uint8_t *code, size_t size, uint64_t address,
                 struct instruction_text *out)
{
    size_t left = size;
    uint64_t at = address;
    out->has_target = out->has_slot = false;
    if (!d->capstone.next(d->engine, &code, &left, &at, d->instruction) || left >= size) {
        out->size = size < d->shortest ? size : d->shortest;
        snprintf(out->text, sizeof out->text, "(bad)");
        return;
    }
    out->size = size - left;
    snprintf(out->text, sizeof out->text, "%-7s %s", d->instruction->mnemonic,
             d->instruction->op_str);
    note_target(d, out);
}
