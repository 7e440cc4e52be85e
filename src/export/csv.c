/* csv: the tables of the commands, the same as their own --csv. It loses nothing. */
#include "export/tables.h"

int export_csv(struct export *e, struct err *err)
{
    return table_write(e, e->sink, e->out, err);
}
