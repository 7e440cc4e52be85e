#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Of the variables that decide the encoding, the first that is set counts. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct style style_of_stdout(void)
{
    struct style s = {.width = STYLE_WIDTH, .terminal = isatty(STDOUT_FILENO)};
    const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    long wanted = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize w;
    if (s.terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col)
        s.width = w.ws_col;
    else if (wanted > 0)
        s.width = (size_t)wanted;
    if (s.width < 40) /* nothing fits into less; let lines wrap instead */
        s.width = 40;
    if (s.width > 1000)
        s.width = 1000;
    s.colour = s.terminal && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    s.utf8 = s.terminal && locale_is_utf8();
    return s;
}
