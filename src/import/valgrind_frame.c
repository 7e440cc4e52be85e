#include "import/valgrind_frame.h"

#include <string.h>

#include "base/text.h"
#include "import/import.h"

/* Parses "little.c:14", and for Rust "lib.rs:3:5": file and line. */
static void take_place(char *place, struct imported_frame *f)
{
    uint64_t numbers[2] = {0};
    f->file = place;
    for (int i = 0; i < 2; i++) {
        char *colon = strrchr(place, ':');
        const char *at = colon ? colon + 1 : "";
        if (!colon || !import_number(&at, &numbers[i]) || *at || numbers[i] > UINT32_MAX)
            break;
        *colon = '\0';
        f->line = (uint32_t)numbers[i]; /* the last one in the loop is the line */
    }
}

struct imported_frame valgrind_frame(char *text, uint64_t *address)
{
    struct imported_frame f = {0};
    const char *at = text;
    *address = 0;
    if (text_begins(at, "0x")) {
        at += 2;
        if (import_hex(&at, address) && text_begins(at, ": "))
            text += at + 2 - text;
    }
    size_t size = strlen(text);
    char *place = NULL;
    for (char *open = strstr(text, " ("); open; open = strstr(open + 1, " ("))
        place = open; /* names contain parentheses too: the last one counts */
    if (place && place > text && text[size - 1] == ')') {
        text[size - 1] = *place = '\0';
        place += 2;
        if (text_begins(place, "in "))
            f.module = place + 3;
        else
            take_place(place, &f);
    }
    f.function = strcmp(text, "???") == 0 ? NULL : text;
    return f;
}
