#include "base/amount.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool amount_parse(const char *text, int64_t *bytes)
{
    static const char letters[] = "kmgt";
    char *end;
    double value = strtod(text, &end), unit = 1;
    if (end == text || !(value >= 0))
        return false;
    end += strspn(end, " ");
    const char *letter = *end ? strchr(letters, *end | 0x20) : NULL;
    if (letter) {
        end++;
        double base = strcasecmp(end, "b") == 0 ? 1000 : 1024;
        unit = pow(base, (double)(letter - letters) + 1);
        if (*end && strcasecmp(end, "b") != 0 && strcasecmp(end, "ib") != 0)
            return false;
    } else if (*end && strcasecmp(end, "b") != 0) {
        return false;
    }
    if (value * unit > 9e18)
        return false;
    *bytes = (int64_t)(value * unit);
    return true;
}
