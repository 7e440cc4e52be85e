#include "view/limit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/strbuf.h"
#include "model/answer.h"

static bool parse_percent(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    end += strspn(end, " ");
    return end != text && strcmp(end, "%") == 0 && *out >= 0 && *out <= 1e9;
}

int limit_parse(struct limit *l, const char *text, struct err *err)
{
    *l = (struct limit){.text = text};
    size_t word = strcspn(text, " +");
    char *name = xstrndup(text, word);
    const char *value = text + word + strspn(text + word, " ");
    int code = metric_parse(name, &l->metric, err);
    free(name);
    if (code)
        return code;
    l->more = *value == '+';
    value += l->more;
    value += strspn(value, " ");
    if (l->more && parse_percent(value, &l->percent))
        return 0;
    l->percent = 0;
    if (*value != '+' && amount_parse(value, &l->amount))
        return 0;
    return err_set(err, -EINVAL,
                   "--limit '%s' is not a metric with an amount: 'peak 500 MiB', 'peak +5 %%', "
                   "'live +64 KiB'",
                   text);
}

static int sum_of(const struct recording *r, enum metric metric, int64_t *out, struct err *err)
{
    struct query q;
    struct answer a;
    query_init(&q);
    q.metric = metric;
    int code = answer_query(&a, r, &q, err);
    if (!code) {
        *out = a.tree.sum.amount;
        answer_release(&a);
    }
    query_release(&q);
    return code;
}

int limit_check(struct limit *l, const struct recording *before, const struct recording *after,
                struct err *err)
{
    if (l->more && !before)
        return err_set(err, -EINVAL,
                       "--limit '%s' compares two recordings: tidemark view BEFORE AFTER", l->text);
    int code = before ? sum_of(before, l->metric, &l->before, err) : 0;
    if (!code)
        code = sum_of(after, l->metric, &l->after, err);
    if (code)
        return code;
    double allowed =
        l->more ? (double)l->before + (double)l->amount + fabs((double)l->before) * l->percent / 100
                : (double)l->amount;
    l->allowed = allowed < 9e18 ? (int64_t)floor(allowed) : INT64_MAX;
    l->broken = l->after > l->allowed;
    return 0;
}

void limit_json(const struct limit *l, struct json *j)
{
    json_object(j, NULL);
    json_string(j, "limit", l->text);
    json_string(j, "metric", metric_name(l->metric));
    json_i64(j, "before", l->before);
    json_i64(j, "after", l->after);
    json_i64(j, "allowed", l->allowed);
    json_bool(j, "broken", l->broken);
    json_end(j);
}
