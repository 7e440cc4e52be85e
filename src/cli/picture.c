#include "cli/picture.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int picture_write(const char *file, const struct strbuf *bytes, struct err *err)
{
    bool own = file && strcmp(file, "-") != 0;
    FILE *out = own ? fopen(file, "w") : stdout;
    if (!out)
        return err_set(err, -EIO, "cannot write %s: %s", file, strerror(errno));
    bool bad = fwrite(bytes->data, 1, bytes->size, out) != bytes->size;
    bad |= (own ? fclose(out) : fflush(out)) != 0;
    return bad ? err_set(err, -EIO, "cannot write %s: %s", own ? file : "the output",
                         strerror(errno))
               : 0;
}
