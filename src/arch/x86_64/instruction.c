/*
 * Lengths of x86-64 instructions: prefixes, opcode (one of several maps), ModRM with its operands,
 * immediate operands.
 */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "record/instruction.h"

#define LONGEST 15

/*
 * What follows an opcode:
 *
 *   .  nothing                b  a byte            m  ModRM
 *   w  2 bytes                e  3 bytes           M  ModRM and a byte
 *   z  4 (2) bytes            a  an address        Z  ModRM and 4 (2) bytes
 *   o  4 or 8, by REX.W       j  a distance of 1   t  ModRM; a byte, if it is a test
 *   x  not known, or none     J  a distance of 4   T  ModRM; 4 (2) bytes, if it is a test
 *
 * Prefixes never get here.
 */
static const char one_byte[] = "mmmmbzxxmmmmbzxx"  /* 00 */
                               "mmmmbzxxmmmmbzxx"  /* 10 */
                               "mmmmbzxxmmmmbzxx"  /* 20 */
                               "mmmmbzxxmmmmbzxx"  /* 30 */
                               "xxxxxxxxxxxxxxxx"  /* 40: REX */
                               "................"  /* 50 */
                               "xxxmxxxxzZbM...."  /* 60 */
                               "jjjjjjjjjjjjjjjj"  /* 70 */
                               "MZxMmmmmmmmmmmmm"  /* 80 */
                               "..........x....."  /* 90 */
                               "aaaa....bz......"  /* a0 */
                               "bbbbbbbboooooooo"  /* b0 */
                               "MMw.xxMZe.w..bx."  /* c0 */
                               "mmmmxxx.mmmmmmmm"  /* d0 */
                               "jjjjbbbbJJxj...."  /* e0 */
                               "x.xx..tT......mm"; /* f0 */

static const char two_byte[] = "mmmmx.....x.xm.x"  /* 00 */
                               "mmmmmmmmmmmmmmmm"  /* 10 */
                               "mmmmxxxxmmmmmmmm"  /* 20 */
                               "......x.xxxxxxxx"  /* 30 */
                               "mmmmmmmmmmmmmmmm"  /* 40 */
                               "mmmmmmmmmmmmmmmm"  /* 50 */
                               "mmmmmmmmmmmmmmmm"  /* 60 */
                               "MMMMmmm.xxxxmmmm"  /* 70 */
                               "JJJJJJJJJJJJJJJJ"  /* 80 */
                               "mmmmmmmmmmmmmmmm"  /* 90 */
                               "...mMmxx...mMmmm"  /* a0 */
                               "mmmmmmmmmmMmmmmm"  /* b0 */
                               "mmMmMMMm........"  /* c0 */
                               "mmmmmmmmmmmmmmmm"  /* d0 */
                               "mmmmmmmmmmmmmmmm"  /* e0 */
                               "mmmmmmmmmmmmmmmm"; /* f0 */

static_assert(sizeof one_byte == 257 && sizeof two_byte == 257, "one letter an opcode");

struct reader {
    const uint8_t *code;
    size_t size;
    unsigned at;
    bool cut; /* it read beyond the end */
};

static uint8_t take(struct reader *r)
{
    if (r->at >= r->size || r->at >= LONGEST) {
        r->cut = true;
        return 0;
    }
    return r->code[r->at++];
}

static void skip(struct reader *r, unsigned bytes)
{
    while (bytes--)
        take(r);
}

/* Reads the ModRM byte and the rest of its operand. */
static uint8_t take_modrm(struct reader *r, struct instruction *out)
{
    uint8_t modrm = take(r);
    unsigned mode = modrm >> 6, base = modrm & 7;
    if (mode == 3)
        return modrm;
    if (base == 4)
        base = take(r) & 7;
    else if (base == 5 && mode == 0) {
        out->relative_at = r->at;
        out->relative_size = 4;
    }
    if (mode == 1)
        skip(r, 1);
    else if (mode == 2 || base == 5)
        skip(r, 4);
    return modrm;
}

static bool is_prefix(uint8_t byte)
{
    return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
           (byte >= 0x64 && byte <= 0x67) || byte == 0xf0 || byte == 0xf2 || byte == 0xf3;
}

struct prefixes {
    bool operand_size, address_size, repeat, wide, rex;
};

static uint8_t take_prefixes(struct reader *r, struct prefixes *p)
{
    uint8_t byte = take(r);
    for (; is_prefix(byte); byte = take(r)) {
        p->operand_size |= byte == 0x66;
        p->address_size |= byte == 0x67;
        p->repeat |= byte == 0xf2 || byte == 0xf3;
    }
    if (byte >> 4 == 4) {
        p->rex = true;
        p->wide = byte & 8;
        byte = take(r);
    }
    return byte;
}

/* Instructions with a vector prefix, of 2, 3 (VEX) or 4 (EVEX) bytes; maps 1 to 3 are the same as
 * without. */
static char vector_letter(struct reader *r, uint8_t prefix)
{
    uint8_t map = 1;
    if (prefix != 0xc5)
        map = take(r) & (prefix == 0x62 ? 7 : 31);
    skip(r, prefix == 0x62 ? 2 : 1);
    uint8_t opcode = take(r);
    char letter = map == 1 ? two_byte[opcode] : map == 3 ? 'M' : 'm';
    bool known = map >= 1 && (map <= 3 || (prefix == 0x62 && (map == 5 || map == 6)));
    if (map == 1 && prefix == 0x62 && opcode >= 0x78 && opcode <= 0x7b)
        letter = 'm';
    if (letter == '.' && opcode != 0x77)
        letter = 'x';
    return known && letter != 'J' ? letter : 'x';
}

static void take_distance(struct reader *r, struct instruction *out, unsigned size)
{
    out->relative_at = r->at;
    out->relative_size = size;
    skip(r, size);
}

enum map { MAP_ONE_BYTE, MAP_TWO_BYTE, MAP_OTHER };

static enum instruction_kind kind_of(enum map map, uint8_t opcode, uint8_t modrm,
                                     const struct prefixes *p)
{
    unsigned extension = modrm >> 3 & 7;
    if (map == MAP_OTHER)
        return INSTRUCTION_PLAIN;
    if (map == MAP_TWO_BYTE) {
        if (opcode >> 4 == 8)
            return INSTRUCTION_BRANCH;
        bool is_endbr64 = opcode == 0x1e && modrm == 0xfa && p->repeat;
        return opcode == 0x1f || is_endbr64 ? INSTRUCTION_NOTHING : INSTRUCTION_PLAIN;
    }
    if (opcode >> 4 == 7)
        return INSTRUCTION_BRANCH;
    if (opcode >= 0xe0 && opcode <= 0xe3)
        return INSTRUCTION_COUNTED;
    if (opcode == 0xe8)
        return INSTRUCTION_CALL;
    if (opcode == 0xe9 || opcode == 0xeb)
        return INSTRUCTION_JUMP;
    if (opcode == 0xc3 || opcode == 0xc2)
        return INSTRUCTION_RETURN;
    if ((opcode == 0x90 && !p->repeat && !p->rex) || opcode == 0xcc)
        return INSTRUCTION_NOTHING;
    if (opcode == 0xff && (extension == 2 || extension == 3))
        return INSTRUCTION_CALL_INDIRECT;
    if (opcode == 0xff && (extension == 4 || extension == 5))
        return INSTRUCTION_JUMP_INDIRECT;
    return INSTRUCTION_PLAIN;
}

unsigned instruction_decode(const uint8_t *code, size_t size, struct instruction *out)
{
    struct reader r = {.code = code, .size = size};
    struct prefixes p = {0};
    *out = (struct instruction){0};
    uint8_t opcode = take_prefixes(&r, &p), modrm = 0;
    enum map map = MAP_OTHER;
    char letter;
    out->opcode_at = r.at - 1;
    if (opcode == 0x62 || opcode == 0xc4 || opcode == 0xc5) {
        letter = p.rex ? 'x' : vector_letter(&r, opcode);
    } else if (opcode != 0x0f) {
        map = MAP_ONE_BYTE;
        letter = one_byte[opcode];
    } else {
        opcode = take(&r);
        letter = opcode == 0x38 ? 'm' : opcode == 0x3a ? 'M' : two_byte[opcode];
        if (opcode == 0x38 || opcode == 0x3a)
            skip(&r, 1);
        else
            map = MAP_TWO_BYTE;
    }

    unsigned word = p.operand_size && !p.wide ? 2 : 4;
    switch (letter) {
    case '.':
        break;
    case 'm':
    case 'M':
    case 'Z':
    case 't':
    case 'T':
        modrm = take_modrm(&r, out);
        if (letter == 'M' || (letter == 't' && (modrm >> 3 & 7) < 2))
            skip(&r, 1);
        if (letter == 'Z' || (letter == 'T' && (modrm >> 3 & 7) < 2))
            skip(&r, word);
        break;
    case 'b':
        skip(&r, 1);
        break;
    case 'z':
        skip(&r, word);
        break;
    case 'w':
        skip(&r, 2);
        break;
    case 'e':
        skip(&r, 3);
        break;
    case 'o':
        skip(&r, p.wide ? 8 : word);
        break;
    case 'a':
        skip(&r, p.address_size ? 4 : 8);
        break;
    case 'j':
        take_distance(&r, out, 1);
        break;
    case 'J':
        if (p.operand_size && !p.wide)
            return 0; /* vendors of processors disagree */
        take_distance(&r, out, 4);
        break;
    default:
        return 0;
    }
    if (r.cut)
        return 0;
    unsigned extension = modrm >> 3 & 7;
    if (map == MAP_ONE_BYTE &&
        ((opcode == 0x8f && extension) ||                     /* another vector prefix */
         ((opcode == 0xc6 || opcode == 0xc7) && extension) || /* transactions */
         (opcode == 0xfe && extension > 1) || (opcode == 0xff && extension > 6)))
        return 0;
    out->kind = kind_of(map, opcode, modrm, &p);
    if (out->relative_at && letter != 'J' && letter != 'j' && p.address_size)
        return 0; /* relative with a 32-bit address */
    out->length = r.at;
    return r.at;
}

uint64_t instruction_target(const uint8_t *code, const struct instruction *i, uint64_t address)
{
    int32_t distance = (int8_t)code[i->relative_at];
    if (i->relative_size == 4)
        memcpy(&distance, code + i->relative_at, 4);
    return address + i->length + (uint64_t)(int64_t)distance;
}

/* What follows these bytes in the code; NULL: the code differs. Reads nothing after the first
 * difference. */
static const uint8_t *skip_bytes(const uint8_t *code, const char *bytes)
{
    for (; *bytes; bytes++, code++)
        if (*code != (uint8_t)*bytes)
            return NULL;
    return code;
}

bool instruction_hands_on(const void *function, uint64_t to)
{
    static const char landing[] = "\xf3\x0f\x1e\xfa", second_to_first[] = "\x48\x89\xf7",
                      jump[] = "\xe9", jump_by_table[] = "\xff\x25";
    const uint8_t *code = function, *operand;
    int32_t distance;
    uint64_t target;
    if ((operand = skip_bytes(code, landing)))
        code = operand;
    if (!(code = skip_bytes(code, second_to_first)))
        return false;
    if ((operand = skip_bytes(code, jump))) {
        memcpy(&distance, operand, 4);
        code = operand + 4 + distance;
        if ((uint64_t)(uintptr_t)code == to)
            return true;
        if ((operand = skip_bytes(code, landing)))
            code = operand;
    }
    if ((operand = skip_bytes(code, "\xf2"))) /* a prefix without effect here */
        code = operand;
    if (!(operand = skip_bytes(code, jump_by_table)))
        return false;
    memcpy(&distance, operand, 4);
    memcpy(&target, operand + 4 + distance, 8);
    return target == to;
}
