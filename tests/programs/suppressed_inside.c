/* Tells LeakSanitizer what not to report, as large projects do. -DCOMPUTED: by more than a text. */
#include "known.h"

const char *__lsan_default_suppressions(void);

#ifdef COMPUTED
static char text[64];
const char *__lsan_default_suppressions(void)
{
    static const char parts[] = "leak:known_leak";
    for (unsigned i = 0; i < sizeof parts; i++)
        text[i] = parts[i];
    return text;
}
#else
const char *__lsan_default_suppressions(void)
{
    return "leak:known_leak\n"
           "leak:third_party_*\n";
}
#endif

SITE static void known_leak(void)
{
    known_sink = malloc(1000);
}

SITE static void third_party_init(void)
{
    known_sink = malloc(2000);
}

SITE static void new_leak(void)
{
    known_sink = malloc(4000);
}

int main(void)
{
    known_leak();
    third_party_init();
    new_leak();
    known_sink = NULL;
    return 0;
}
