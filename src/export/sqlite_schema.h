/*
 * sqlite_schema: the tables and views of an exported database; docs/export.md describes them.
 * sqlite.c creates the tables that commands print (threads, marks, stamps, leaks, ...) from their
 * columns.
 */
#ifndef TIDE_EXPORT_SQLITE_SCHEMA_H
#define TIDE_EXPORT_SQLITE_SCHEMA_H

#define SQLITE_SCHEMA_NAME "tidemark.sqlite/1"

static const char sqlite_tables[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE functions (id INTEGER PRIMARY KEY, name TEXT, module TEXT, file TEXT);"
    "CREATE TABLE frames (id INTEGER PRIMARY KEY, function INTEGER REFERENCES functions, file "
    "TEXT, "
    "line INTEGER, kind TEXT);"
    "CREATE TABLE stacks (id INTEGER PRIMARY KEY, process INTEGER, parent INTEGER REFERENCES "
    "stacks, "
    "frame INTEGER REFERENCES frames, depth INTEGER);"
    "CREATE TABLE sites (id INTEGER PRIMARY KEY, process INTEGER, stack INTEGER REFERENCES stacks, "
    "charged INTEGER REFERENCES stacks, function INTEGER REFERENCES functions, tid INTEGER, thread "
    "TEXT, domain TEXT, "
    "allocations INTEGER, bytes INTEGER, frees INTEGER, freed_bytes INTEGER, "
    "live_blocks INTEGER, live_bytes INTEGER, temporary INTEGER, temporary_bytes INTEGER, "
    "usable_bytes INTEGER, reallocations INTEGER, peak_blocks INTEGER, peak_bytes INTEGER, "
    "sitepeak_blocks INTEGER, sitepeak_bytes INTEGER, largest_bytes INTEGER);"
    "CREATE TABLE intervals (id INTEGER PRIMARY KEY, process INTEGER, start_ns INTEGER, end_ns "
    "INTEGER, "
    "live_bytes INTEGER, live_blocks INTEGER, peak_bytes INTEGER, unknown_frees INTEGER, "
    "lost_events INTEGER, truncated_stacks INTEGER);"
    "CREATE TABLE changes (interval INTEGER REFERENCES intervals, site INTEGER REFERENCES sites, "
    "allocations INTEGER, bytes INTEGER, frees INTEGER, freed_bytes INTEGER, temporary INTEGER, "
    "temporary_bytes INTEGER);";

static const char sqlite_views[] =
    "CREATE INDEX sites_stack ON sites (stack);"
    "CREATE INDEX sites_function ON sites (function);"
    "CREATE INDEX changes_site ON changes (site);"
    "CREATE INDEX stacks_parent ON stacks (parent);"
    /* Every function from the charged one outwards, each once. */
    "CREATE VIEW site_functions AS WITH RECURSIVE up (site, stack) AS ("
    "SELECT id, charged FROM sites UNION ALL SELECT up.site, stacks.parent FROM up JOIN stacks "
    "ON stacks.id = up.stack WHERE stacks.parent IS NOT NULL) "
    "SELECT DISTINCT up.site AS site, frames.function AS function FROM up "
    "JOIN stacks ON stacks.id = up.stack JOIN frames ON frames.id = stacks.frame;"
    "CREATE VIEW self_by_function AS SELECT sites.process, domain, name, module, file, "
    "sum(live_bytes) AS live_bytes, sum(live_blocks) AS live_blocks, sum(bytes) AS total_bytes, "
    "sum(allocations) AS allocations, sum(peak_bytes) AS peak_bytes, sum(peak_blocks) AS "
    "peak_blocks, "
    "sum(temporary) AS temporary, sum(temporary_bytes) AS temporary_bytes "
    "FROM sites JOIN functions ON functions.id = sites.function "
    "GROUP BY sites.process, domain, sites.function;"
    "CREATE VIEW total_by_function AS SELECT sites.process, domain, name, module, file, "
    "sum(live_bytes) AS live_bytes, sum(live_blocks) AS live_blocks, sum(bytes) AS total_bytes, "
    "sum(allocations) AS allocations, sum(peak_bytes) AS peak_bytes, sum(peak_blocks) AS "
    "peak_blocks, "
    "sum(temporary) AS temporary, sum(temporary_bytes) AS temporary_bytes "
    "FROM site_functions JOIN sites ON sites.id = site_functions.site "
    "JOIN functions ON functions.id = site_functions.function "
    "GROUP BY sites.process, domain, site_functions.function;"
    /* a;b;c for each stack, outermost function first. */
    "CREATE VIEW stack_names AS WITH RECURSIVE down (id, names) AS ("
    "SELECT stacks.id, name FROM stacks JOIN frames ON frames.id = stacks.frame "
    "JOIN functions ON functions.id = frames.function WHERE parent IS NULL UNION ALL "
    "SELECT stacks.id, down.names || ';' || name FROM down JOIN stacks ON stacks.parent = down.id "
    "JOIN frames ON frames.id = stacks.frame JOIN functions ON functions.id = frames.function) "
    "SELECT id AS stack, names FROM down;"
    "CREATE VIEW timeline AS SELECT process, end_ns AS time_ns, live_bytes, live_blocks, "
    "peak_bytes "
    "FROM intervals ORDER BY process, end_ns;";

#endif
