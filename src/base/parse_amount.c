#include "base/parse_amount.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

double decimal_parse(const char *text, char **end)
{
    bool is_decimal = text[0] && strchr("0123456789.", text[0]) && (text[1] | 0x20) != 'x';
    if (is_decimal)
        return strtod(text, end);
    *end = (char *)(uintptr_t)text;
    return 0;
}

bool amount_parse(const char *text, int64_t *bytes)
{
    static const char letters[] = "kmgt";
    char *end;
    double value = decimal_parse(text, &end), unit = 1;
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

bool duration_parse(const char *text, double *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9},  {"ms", 1e6},   {"us", 1e3},  {"ns", 1},
                 {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    char *end;
    double value = decimal_parse(text, &end);
    if (end == text || !isfinite(value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *ns = value * units[i].ns;
            return true;
        }
    return false;
}
