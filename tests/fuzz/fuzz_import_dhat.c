/* Any bytes as DHAT's JSON. */
#include "import.h"

FUZZ_IMPORTER("dhat")

void fuzz_seeds(const char *folder)
{
    fuzz_import_text(
        folder, "heap",
        "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":"
        "true,\"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,\"cmd\":\"./a\",\"pid\":3,\"te\":9,"
        "\"tg\":4,\"pps\":[{\"tb\":15,\"tbk\":2,\"tl\":1,\"mb\":10,\"mbk\":1,\"gb\":5,\"gbk\":1,"
        "\"eb\":5,\"ebk\":1,\"rb\":0,\"acc\":[-8,1.5e3],\"fs\":[1,2]}],\"ftbl\":[\"[root]\","
        "\"0x1: f (a.c:1)\",\"0x1: g\\u00e9 (in /x)\"]}");
    fuzz_import_text(folder, "rust",
                     "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"bklt\":true,\"tu\":\"\xc2\xb5s\","
                     "\"te\":90,\"tg\":40,\"pps\":[],\"ftbl\":[]}");
}
