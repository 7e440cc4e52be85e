#include "answer/tree_indent.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "base/vec.h"

/* A line on the path from the outermost call to the current one. */
struct step {
    uint32_t depth, columns;
    size_t line;
};

bool indent_tree(uint32_t *depths, size_t count)
{
    VEC(struct step) way = {0};
    uint32_t deepest = 0;
    for (size_t i = 0; i < count; i++)
        deepest = depths[i] > deepest ? depths[i] : deepest;
    bool deep = deepest > INDENT_PLAIN;
    uint32_t *children = xcalloc(count + 1, sizeof *children); /* number of calls of each line */
    for (size_t i = 0; deep && i < count; i++) {
        while (way.count && vec_last(&way)->depth >= depths[i])
            way.count--;
        if (way.count)
            children[vec_last(&way)->line]++;
        *vec_push(&way) = (struct step){.depth = depths[i], .line = i};
    }
    way.count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t depth = depths[i];
        while (way.count && vec_last(&way)->depth >= depth)
            way.count--;
        const struct step *caller = way.count ? vec_last(&way) : NULL;
        depths[i] = !deep                        ? 2 * depth
                    : !caller                    ? 0
                    : children[caller->line] > 1 ? caller->columns + 2
                                                 : caller->columns;
        *vec_push(&way) = (struct step){.depth = depth, .columns = depths[i], .line = i};
    }
    vec_release(&way);
    free(children);
    return deep;
}
