#include "answer/style.h"

const char *style_bold(const struct style *s)
{
    return s->colour ? "\033[1m" : "";
}

const char *style_faint(const struct style *s)
{
    return s->colour ? "\033[2m" : "";
}

const char *style_warn(const struct style *s)
{
    return s->colour ? "\033[33m" : "";
}

const char *style_hot(const struct style *s)
{
    return s->colour ? "\033[1;31m" : "";
}

const char *style_plain(const struct style *s)
{
    return s->colour ? "\033[0m" : "";
}
