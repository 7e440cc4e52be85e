/* Any bytes as the text of perf script. */
#include "import.h"

FUZZ_IMPORTER("perf")

void fuzz_seeds(const char *folder)
{
    fuzz_import_text(folder, "two",
                     "# h\napp 100/101 [003] 10.000001:     250000 cpu-clock:u:\n"
                     "\t    55d0c0ffee inner+0x1f (/usr/bin/app)\n\t    55d0c0ff00 o (inlined)\n\n"
                     "app 7 10.5: cycles:\n\t 7f main (/a b)\n\n");
}
