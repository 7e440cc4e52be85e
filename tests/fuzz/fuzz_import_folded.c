/* Any bytes as folded stacks. */
#include "import.h"

FUZZ_IMPORTER("folded")

void fuzz_seeds(const char *folder)
{
    fuzz_import_text(folder, "a", "a;b;c 12\na;b 3\n");
    fuzz_import_text(folder, "b", "main;f_[k];g_[i] 1\nmain 0\r\n# no stack\n\n;; 3.7\n");
}
