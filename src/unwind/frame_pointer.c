#include "unwind/frame_pointer.h"

#include "unwind/go_stack.h"
#include "unwind/signal_return.h"

#define LOWEST_CODE   4096       /* nothing is ever mapped at page 0 */
#define GUESS_LARGEST (64 << 10) /* bytes of a frame that is guessed */
#define FIRST_SEARCH  4096       /* bytes to search beyond a frame that claims to be the first */

enum without_cfi without_cfi(const struct unwind_space *space, const struct unwind_module *module,
                             uint64_t pc, struct cfi_row *scratch)
{
    if (module && (cfi_is_planted(&module->cfi, pc, scratch) || go_is_first(space, module, pc)))
        return WITHOUT_CFI_OUTERMOST;
    if (module && go_switches(space, module, pc))
        return WITHOUT_CFI_GO;
    if (signal_returns(space, pc))
        return WITHOUT_CFI_SIGNAL;
    return WITHOUT_CFI_GUESS;
}

/* --- following the frame pointer -------------------------------------------------------------- */

/* Which call ends at this address? Looks it up in `sites` first, and keeps the answer there. */
static enum step_call call_at(const struct unwind_space *space, struct call_site *sites,
                              uint64_t address, uint64_t callee)
{
    struct call_site found, *place;
    if (!sites || !space->call_site)
        return space->call(space, address, callee);
    place = call_site_place(sites, address);
    if (place->address != address) {
        if (!space->call_site(space, address, &found))
            return CALL_NONE;
        *place = found;
    }
    return call_site_seen_from(place, callee);
}

/* Is there a return address in [from, to), at least of this kind? `unread`: the result if the stack
 * cannot be read. */
static bool has_return_address(const struct unwind_space *space, struct call_site *sites,
                               uint64_t from, uint64_t to, uint64_t callee, enum step_call kind,
                               bool prove, bool unread)
{
    uint64_t page = from >> 12, word;
    from = (from + 7) & ~UINT64_C(7);
    for (uint64_t at = from; at < to; at += 8) {
        if (prove && at >> 12 != page && space->readable && !space->readable(space, at))
            return unread;
        page = at >> 12;
        if (space->read(space, at, &word))
            return unread;
        word = arch_return_address(word);
        if (word >= LOWEST_CODE && word >> ARCH_ADDRESS_BITS == 0 &&
            (kind == CALL_ANY || call_reaches(word, callee)) &&
            call_at(space, sites, word, callee) >= kind)
            return true;
    }
    return false;
}

bool frame_pointer_is_plausible(const struct unwind_space *space, struct call_site *sites,
                                uint64_t pc, uint64_t sp, uint64_t fp, bool prove)
{
    struct unwind_module module;
    uint64_t back;
    if (fp % 8 || fp < sp || fp - sp > GUESS_LARGEST)
        return false;
    if (prove && (fp + 8) >> 12 != sp >> 12 && space->readable &&
        !(space->readable(space, fp) && space->readable(space, fp + 8)))
        return false;
    if (!space->call)
        return true;
    if (space->read(space, fp + 8, &back))
        return false;
    back = arch_return_address(back);
    if (back >= LOWEST_CODE && back >> ARCH_ADDRESS_BITS == 0) {
        enum step_call call = call_at(space, sites, back, pc);
        if (call == CALL_NONE || call == CALL_FRAMED)
            return call == CALL_FRAMED || (space->find(space, back - 1, &module) == 0 &&
                                           go_is_first(space, &module, back));
    }
    return !has_return_address(space, sites, sp, fp, pc, CALL_BARE, prove, true);
}

bool frame_pointer_is_outermost(const struct unwind_space *space, uint64_t sp, uint64_t end,
                                bool prove)
{
    uint64_t most = prove && !space->readable ? (sp | 4095) + 1 : sp + FIRST_SEARCH;
    if (end > most)
        end = most;
    return !space->call || !has_return_address(space, NULL, sp, end, 0, CALL_ANY, prove, false);
}

/* The stack pointer of a frame that was reached through its callee's frame record
 * (rule_record_sp). */
static bool record_sp(const struct unwind_space *space, uint64_t pc, uint64_t fp, uint64_t *sp)
{
    struct unwind_module module;
    struct cfi_row row;
    if (space->find(space, pc - 1, &module) || cfi_row(&module.cfi, pc - 1, &row) ||
        row.cfa_expression || row.cfa_reg != ARCH_REG_SP)
        return true; /* it is not needed */
    const struct cfi_rule *saved = &row.regs[ARCH_REG_FP], *ra = &row.regs[row.return_reg];
    uint64_t from = fp - (uint64_t)saved->offset - (uint64_t)row.cfa_offset;
    if (row.signal_frame || saved->how != CFI_OFFSET || ra->how != CFI_OFFSET ||
        ra->offset != saved->offset + 8 || from < *sp)
        return false;
    *sp = from;
    return true;
}

enum step_end frame_pointer_step(const struct unwind_space *space, struct arch_registers *r,
                                 struct step_result *result)
{
    uint64_t fp = r->value[ARCH_REG_FP], sp = r->value[ARCH_REG_SP], up, return_address;
    uint64_t end = fp + 16;
    if (!(r->known >> ARCH_REG_FP & 1) ||
        !frame_pointer_is_plausible(space, NULL, r->value[ARCH_REG_PC], sp, fp, true))
        return STEP_LOST;
    if (space->read(space, fp, &up) || space->read(space, fp + 8, &return_address))
        return STEP_LOST;
    return_address = arch_return_address(return_address);
    if (return_address < LOWEST_CODE ||
        (!ARCH_RECORD_ENDS_FRAME && !record_sp(space, return_address, up, &end)))
        return STEP_LOST;
    result->return_slot = fp + 8;
    result->fp_slot = fp;
    *r = (struct arch_registers){.known = ARCH_BIT(ARCH_REG_FP) | ARCH_BIT(ARCH_REG_SP) |
                                          ARCH_BIT(ARCH_REG_PC)};
    r->value[ARCH_REG_FP] = up;
    r->value[ARCH_REG_SP] = end;
    r->value[ARCH_REG_PC] = return_address;
    return STEP_OK;
}
