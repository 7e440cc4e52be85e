/*
 * valgrind_frame: a frame as valgrind's tools write it, in massif's trees and DHAT's table:
 *
 *     0x109256: grow (little.c:14)      0x48417B4: malloc (in /usr/libexec/...so)      0x1: ???
 */
#ifndef TIDE_IMPORT_VALGRIND_FRAME_H
#define TIDE_IMPORT_VALGRIND_FRAME_H

#include "import/stacks.h"

/* Cuts the text into its parts; *address: 0 if there is none. */
struct imported_frame valgrind_frame(char *text, uint64_t *address);

#endif
