/* mark_labels: which marks of a program are compared with each other. */
#ifndef TIDE_ANALYSE_MARK_LABELS_H
#define TIDE_ANALYSE_MARK_LABELS_H

#include "store/recording.h"

/* The label with the most marks, and how many; NULL: there are none. Marks that snapshots and `ctl
 * leaks` make are not the program's own and do not count. */
const char *labels_busiest(const struct profile *p, size_t *count);

#endif
