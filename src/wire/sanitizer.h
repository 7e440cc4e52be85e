/*
 * sanitizer: the libraries of compilers that must be loaded before every other one.
 *
 * AddressSanitizer's refuses to run after another library that was preloaded, and ThreadSanitizer's
 * crashes there. A program that needs one of them is not recorded. Its allocator is the sanitizer's
 * own in any case.
 */
#ifndef TIDE_WIRE_SANITIZER_H
#define TIDE_WIRE_SANITIZER_H

#include <stdbool.h>
#include <string.h>

#define WIRE_SANITIZER_NAME 32 /* so many bytes of a name are enough */

/* Is a library of this name, as in DT_NEEDED, such a sanitizer? */
static inline bool wire_is_sanitizer(const char *name)
{
    static const char *const begins[] = {"libasan.so",       "libtsan.so",
                                         "libhwasan.so",     "libclang_rt.asan",
                                         "libclang_rt.tsan", "libclang_rt.hwasan"};
    for (unsigned i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

#endif
