#include "cli/picture.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "store/file.h"

int picture_alone(const char *option, enum output output, struct err *err)
{
    return output == OUTPUT_TEXT
               ? 0
               : err_set(err, -EINVAL, "%s writes its file and prints nothing; leave out %s",
                         option, output == OUTPUT_JSON ? "--json" : "--csv");
}

int picture_write(const char *file, const struct strbuf *bytes, struct err *err)
{
    bool own = file && strcmp(file, "-") != 0;
    if (own && recording_file_is(file))
        return err_set(err, -EEXIST, "%s is a recording and is not overwritten", file);
    FILE *out = own ? fopen(file, "w") : stdout;
    if (!out)
        return err_set(err, -EIO, "cannot write %s: %s", file, strerror(errno));
    bool bad = fwrite(bytes->data, 1, bytes->size, out) != bytes->size;
    bad |= (own ? fclose(out) : fflush(out)) != 0;
    return bad ? err_set(err, -EIO, "cannot write %s: %s", own ? file : "the output",
                         strerror(errno))
               : 0;
}
