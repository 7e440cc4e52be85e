/*
 * memray_records: the records of a memray file as lines of text, which import/memray.c gets from
 * memray itself. Numbers are decimal, addresses hexadecimal; what is numbered counts from 0.
 *
 *     v VERSION             P PID          X COMMAND        T START END (ms since 1970)
 *     R TIME RSS HEAP       the process at a moment (ms since 1970)
 *     F LINE p|n TAB FUNCTION TAB FILE     a frame, of Python or native
 *     K FRAME ...           a stack, innermost frame first
 *     N NUMBER TID NAME     a thread; again, where it got another name
 *     + ADDRESS SIZE THREAD STACK          an allocation;  m: a mapping
 *     - ADDRESS THREAD      a free;  u ADDRESS SIZE: an unmapping
 *     H h|m SIZE COUNT THREAD STACK        of files that hold sums: at the peak;  L: at the end
 *     E                     the end;  !WHY: it could not be read
 *
 * Of single allocations the order is known, but no times; resident memory is known over time. Of
 * sums, what was allocated and freed before the end is not known, except for the peak.
 */
#ifndef TIDE_IMPORT_MEMRAY_RECORDS_H
#define TIDE_IMPORT_MEMRAY_RECORDS_H

#include "import/import.h"

/* Reads them from m->in. -ENOPKG without a sentence: memray is not installed. */
int memray_records_import(struct import *m, struct err *err);

#endif
