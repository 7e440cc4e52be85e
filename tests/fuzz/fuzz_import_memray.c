/* Any bytes as the records that memray gives of its files. */
#include "import.h"
#include "import/memray_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct import_format records = {.name = "records", .read = memray_records_import};
    if (!memmem(data, size, "!no memray", 10)) /* which has a sentence of its caller's */
        fuzz_import(&records, data, size);
    return 0;
}

void fuzz_seeds(const char *folder)
{
    fuzz_import_text(folder, "single",
                     "v 1.2\nP 77\nX a.py x\nT 1000 3000\nR 1500 4096 100\nF 3 p\tleak\ta.py\n"
                     "F 9 n\tmain\ta.c\nK 0 1\nK\nN 0 1 main\nN 1 2 \n+ 1000 100 0 0\n"
                     "+ 2000 200 1 1\n- 2000 1\nm 9000 4096 0 1\nu 9000 100\nN 1 2 worker\nE\n");
    fuzz_import_text(folder, "sums",
                     "v 1.2\nT 1 2\nF 3 p\tleak\ta.py\nK 0\nN 0 1 main\nH h 300 3 0 0\n"
                     "L m 100 1 0 0\nE\n");
}
