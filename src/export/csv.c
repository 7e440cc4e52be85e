/* csv: the tables of the commands, as their own --csv. It loses nothing of them. */
#include "export/tables.h"

int export_csv(struct export *e, struct err *err)
{
    return table_write(e, e->sink, e->out, err);
}
