// main: starts the page.
import {callers_view} from "./callers.js";
import {core} from "./core.js";
import {diff_view} from "./diff.js";
import {flame_view} from "./flame.js";
import {growth_view} from "./growth.js";
import {start_keys} from "./keys.js";
import {leaks_view} from "./leaks.js";
import {maps_view} from "./maps.js";
import {marks_view} from "./marks.js";
import {processes_view} from "./processes.js";
import {report_view} from "./report.js";
import {start_shell} from "./shell.js";
import {sizes_view} from "./sizes.js";
import {source_view} from "./source.js";
import {summary_view} from "./summary.js";
import {threads_view} from "./threads.js";
import {tree_view} from "./tree.js";

const ALL_VIEWS = [
    diff_view, summary_view, report_view, flame_view, tree_view, callers_view, leaks_view, growth_view, threads_view,
    processes_view, sizes_view, maps_view, marks_view, source_view
];
const VIEWS = ALL_VIEWS.filter((view) => !view.needs || view.needs());

// For two recordings the difference comes first.
start_shell(VIEWS, core.files.length > 1 ? "#view=diff" : "");
start_keys(VIEWS);
