/*
 * debugfile: finds the separate debug information of a stripped ELF file.
 *
 * It looks for <root>/.build-id/xx/yyyy.debug; then for the file named by .gnu_debuglink next to
 * the ELF file, in .debug/ beside it and in <root>/<its directory>/. The file must have the same
 * build id or, if either has none, the checksum of the link. dwz's shared part (.gnu_debugaltlink)
 * is looked for where the link says and below <root>, and must have the build id of the link.
 * Nothing is fetched over a network.
 *
 * Both functions return 0 and an open image that the caller releases, or a negative errno.
 */
#ifndef TIDE_SYMBOL_DEBUGFILE_H
#define TIDE_SYMBOL_DEBUGFILE_H

#include <elfutils/libdw.h>

#include "base/strbuf.h"
#include "symbol/elfimage.h"

#define DEBUGFILE_ROOT "/usr/lib/debug"

/* `found_path` receives its path: an altlink inside it is relative to that. */
int debugfile_find(const char *root, const char *path, const struct elf_image *main,
                   struct elf_image *found, struct strbuf *found_path);

/* `dwarf` was opened from the file at `path`. -ENOENT also if it names no shared part. */
int debugfile_find_alt(const char *root, const char *path, Dwarf *dwarf, struct elf_image *found);

#endif
