/*
 * symbolizer: addresses in ELF files to functions, source lines and inlined frames.
 *
 * Uses libdw and libelf. Finds separate debug information by build id, .gnu_debuglink and below
 * /usr/lib/debug. Names are demangled (C++ and Rust). The files may be hostile, because a profile
 * names them: nothing is executed, sizes are checked, and a file that cannot be read is a module
 * without symbols, never an error.
 *
 * Not thread-safe. Ownership: returned strings live as long as the symbolizer. symbolizer_free
 * accepts NULL.
 */
#ifndef TIDE_SYMBOL_SYMBOLIZER_H
#define TIDE_SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolizer;
struct symbol_file;

struct symbol_frame {
    const char *function; /* never NULL: "libfoo.so+0x1234" if no symbol covers the address */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool inlined;         /* this frame was inlined into the next one of the list */
};

struct symbolizer *symbolizer_new(void);
void symbolizer_free(struct symbolizer *s);

/*
 * The file at `path`, opened at most once. If build_id_size is not 0 and the file on disk has
 * another build id (it was replaced since), it counts as unreadable. Never NULL.
 */
struct symbol_file *symbolizer_file(struct symbolizer *s, const char *path, const uint8_t *build_id,
                                    size_t build_id_size);

/*
 * The frames at an address of the ELF file (not a run-time address), innermost first; the last one
 * is not inlined. Pass the address of an instruction, so return address - 1. Returns how many (at
 * least 1) and sets *frames; valid until the next call.
 */
size_t symbolizer_resolve(struct symbolizer *s, struct symbol_file *file, uint64_t address,
                          const struct symbol_frame **frames);

/* Releases the resident pages of the file's symbol tables: each name takes a page, with its
 * neighbours. They are read again when needed. */
void symbol_file_discard_pages(struct symbol_file *file);

enum symbol_file_state {
    SYMBOL_FILE_GOOD,
    SYMBOL_FILE_MISSING, /* or not an ELF file, or not readable for us */
    SYMBOL_FILE_REPLACED /* the file has another build id */
};
enum symbol_file_state symbol_file_state(struct symbol_file *file);

/*
 * Where the function around an address of the file begins and ends (exclusive): by its symbol, by
 * DWARF, or by its unwind information, which stripped files have too. false: not known.
 */
bool symbol_file_bounds(struct symbol_file *file, uint64_t address, uint64_t *low, uint64_t *high);

/* The line on which a function is declared, of those that symbolizer_resolve returns for an
 * address. 0: not known. */
uint32_t symbolizer_declared(struct symbolizer *s, struct symbol_file *file, uint64_t address,
                             const char *function);

/* The code at an address, as far as the file has it; NULL: none. */
const uint8_t *symbol_file_code(struct symbol_file *file, uint64_t address, size_t *size);

/* The demangled name of the function that begins at an address; or of the function in another file,
 * if a stub at the address leads to it. NULL: none. */
const char *symbolizer_entry(struct symbolizer *s, struct symbol_file *file, uint64_t address);
/* The function of another file that is called through the slot at an address; NULL: none. */
const char *symbolizer_slot(struct symbolizer *s, struct symbol_file *file, uint64_t slot);

/* EM_X86_64 and the like; 0: not known. */
unsigned symbol_file_machine(struct symbol_file *file);

/* Does the file have line information (own or separate)? For "install the debug package" advice. */
bool symbol_file_has_lines(struct symbolizer *s, struct symbol_file *file);

#endif
