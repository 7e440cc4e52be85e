/* Any bytes as massif.out. */
#include "import.h"

FUZZ_IMPORTER("massif")

void fuzz_seeds(const char *folder)
{
    fuzz_import_text(
        folder, "two",
        "desc: --x\ncmd: ./a b\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=0\n"
        "mem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n#-----------\n"
        "snapshot=1\n#-----------\ntime=9\nmem_heap_B=300\nmem_heap_extra_B=8\nmem_stacks_B=0\n"
        "heap_tree=peak\nn2: 300 (heap allocation functions) malloc\n n1: 200 0x10: f(int) "
        "(a.c:3)\n  n0: 200 0x20: main (in /bin/a)\n n0: 100 in 2 places, all below massif's "
        "threshold (1.00%)\n");
}
