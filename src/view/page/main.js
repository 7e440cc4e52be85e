// main: where the page begins.
import {callers_view} from "./callers.js";
import {flame_view} from "./flame.js";
import {start_keys} from "./keys.js";
import {report_view} from "./report.js";
import {start_shell} from "./shell.js";
import {summary_view} from "./summary.js";
import {tree_view} from "./tree.js";

const VIEWS = [summary_view, report_view, flame_view, tree_view, callers_view];

start_shell(VIEWS);
start_keys(VIEWS);
