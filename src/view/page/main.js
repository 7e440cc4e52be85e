// main: where the page begins.
import {start_keys} from "./keys.js";
import {start_shell} from "./shell.js";
import {summary_view} from "./summary.js";

const VIEWS = [summary_view];

start_shell(VIEWS);
start_keys(VIEWS);
