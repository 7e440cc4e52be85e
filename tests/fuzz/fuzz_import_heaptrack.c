/* Any bytes as a file of heaptrack, raw or interpreted. */
#include "import.h"

FUZZ_IMPORTER("heaptrack")

void fuzz_seeds(const char *folder)
{
    fuzz_import_text(folder, "interpreted",
                     "v 10400 3\nX ./app x\nI 1000 100\ns 4 main\ns 1 f\ns 3 a.c\ns 8 /bin/app\n"
                     "i 1000 4 1 3 a\ni 2000 4 2 3 14 1 3 5\nt 1 0\nt 2 1\na 10 2\na 1000 2\n+ 1\n"
                     "c 64\nR 10\n+ 0\n- 1\nc 12c\nR 8\n");
    fuzz_import_text(folder, "raw",
                     "v 10400 3\nx 4 /x/y\nX ./y\nI 1000 100\nm 1 -\nm 1 x 1000 0 7e8 1000 331\n"
                     "m f linux-vdso.so.1 7fd4e35fa000 0 1522\nt 1200 0\nt 1300 1\n"
                     "+ 64 2 5000\n- 5000\n+ c8 2 6000\nc 6\nR 3f2\n");
}
