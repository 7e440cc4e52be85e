#include "cli/record_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_amount.h"

static int take_output(struct session_options *o, const char *value, struct err *err)
{
    if (strcmp(value, "-") == 0)
        return err_set(err, -EINVAL,
                       "-o - would mix the recording with other output; name a file, or pipe it: "
                       "-o '|command'");
    if (!value[*value == '|' ? 1 + strspn(value + 1, " \t") : 0])
        return err_set(err, -EINVAL, "-o takes a file name or '|command', not '%s'", value);
    o->output = value;
    return 0;
}

static int take_interval(struct session_options *o, const char *value, struct err *err)
{
    char *end;
    double ms = decimal_parse(value, &end);
    if (*end || !(ms >= 1 && ms <= 3.6e6))
        return err_set(err, -EINVAL, "--interval takes milliseconds, 1 or more, not '%s'", value);
    o->interval_ns = (uint64_t)(ms * 1e6);
    return 0;
}

int record_option_take(struct session_options *o, int option, const char *value, struct err *err)
{
    switch (option) {
    case OPT_OUTPUT:
        return take_output(o, value, err);
    case OPT_INTERVAL:
        return take_interval(o, value, err);
    case OPT_ON_FULL:
        if (strcmp(value, "wait") != 0 && strcmp(value, "drop") != 0)
            return err_set(err, -EINVAL, "--on-full takes 'wait' or 'drop', not '%s'", value);
        o->on_full = value[0] == 'd' ? WIRE_DROP : WIRE_WAIT;
        return 0;
    case OPT_PYTHON:
        o->no_python = strcmp(value, "off") == 0;
        o->python_objects = strcmp(value, "objects") == 0;
        if (!o->no_python && !o->python_objects && strcmp(value, "auto") != 0)
            return err_set(err, -EINVAL, "--python takes 'auto', 'off' or 'objects', not '%s'",
                           value);
        return 0;
    case OPT_SCAN:
        if (strcmp(value, "auto") != 0 && strcmp(value, "full") != 0 && strcmp(value, "off") != 0)
            return err_set(err, -EINVAL, "--scan takes 'auto', 'full' or 'off', not '%s'", value);
        o->no_scan = value[0] == 'o';
        o->full_scan = value[0] == 'f';
        return 0;
    default:
        return 1;
    }
}

char *record_output_literal(const char *name)
{
    struct strbuf b = {0};
    for (; *name; name++)
        strbuf_puts(&b, *name == '%' ? "%%" : (char[]){*name, '\0'});
    return strbuf_detach(&b);
}
