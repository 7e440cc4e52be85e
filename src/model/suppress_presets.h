/*
 * suppress_presets: memory that is never the user's fault: what the loader, the C and C++ libraries
 * and big frameworks allocate once and keep until the end.
 *
 * The list is in suppress_presets.c; suppress_match.h decides whether a stack matches.
 *
 * Each rule is narrow: it names the library whose code allocates, and every frame from there to the
 * function that explains it belongs to that library. So what a user's constructor allocates below
 * the loader, or a user's callback below a framework, is never hidden.
 */
#ifndef TIDE_MODEL_SUPPRESS_PRESETS_H
#define TIDE_MODEL_SUPPRESS_PRESETS_H

#include "model/suppress.h"

enum preset {
    PRESET_LOADER,
    PRESET_LIBC,
    PRESET_LIBSTDCXX,
    PRESET_PYTHON,
    PRESET_ROOT,
    PRESET_GLIB,
    PRESET_OPENSSL,
    PRESET_LLVM,
    PRESET_FONTCONFIG,
    PRESETS
};

/* Whose memory it is, in words: "the loader", "libstdc++". */
const char *preset_name(enum preset p);

void presets_add(struct suppressions *s);

#endif
