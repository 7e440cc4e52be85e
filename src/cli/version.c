#include "cli/version.h"

#include <capstone/capstone.h>
#include <elfutils/version.h>
#include <libdeflate.h>
#include <sqlite3.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

#include "machine/registers.h"
#include "view/page_template.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* has the compiler's name */
#else
#define COMPILER "gcc " __VERSION__
#endif

void version_print(void)
{
    printf("tidemark " TIDEMARK_VERSION "\n"
           "built by " COMPILER " for " ARCH_NAME " and glibc %d.%d\n"
           "with elfutils %d.%d, SQLite " SQLITE_VERSION ", zstd " ZSTD_VERSION_STRING
           ", zlib " ZLIB_VERSION ", libdeflate " LIBDEFLATE_VERSION_STRING
           ", capstone %d.%d; %s the viewer\n",
           __GLIBC__, __GLIBC_MINOR__, _ELFUTILS_VERSION / 1000, _ELFUTILS_VERSION % 1000,
           CS_API_MAJOR, CS_API_MINOR, page_template_size ? "with" : "without");
}
