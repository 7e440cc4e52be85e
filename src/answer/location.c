#include "answer/location.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/path.h"
#include "base/say.h"
#include "model/function_name.h"

void location_put(struct strbuf *out, const char *file, uint32_t line, const char *module)
{
    if (file && line)
        say(out, "%s:%d", path_base(file), line);
    else if (file || module)
        say(out, "%s", file ? path_base(file) : module);
}

void location_of_frame(struct strbuf *out, const struct frame_table *t, const struct call_frame *f)
{
    location_put(out, location_file(t, f), f->line,
                 f->module ? frame_table_string(t, f->module) : NULL);
}

void location_path(struct strbuf *out, const struct frame_table *t, const struct call_frame *f)
{
    strbuf_puts(out, "");
    if (f->file && f->line)
        say(out, "%s:%d", location_file(t, f), f->line);
    else if (f->file)
        say(out, "%s", location_file(t, f));
}

void location_name(struct strbuf *out, const char *name, size_t width)
{
    struct strbuf clean = {0};
    say(&clean, "%s", name);
    name_shorten(out, clean.data ? clean.data : "", width);
    strbuf_release(&clean);
}

void location_bare_name(struct strbuf *out, const char *name, size_t width)
{
    struct name_part bare = name_bare(name);
    char *text = xstrndup(bare.text, bare.size);
    location_name(out, text, width);
    free(text);
}
