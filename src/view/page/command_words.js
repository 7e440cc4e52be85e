// command_words: the command that answers for what is on screen. The page runs it, and shows it to be copied.
import {counted} from "./format.js";

// Which parts of the state each command understands.
const FOCUS = ["within", "ignore", "fold", "thread", "language", "process"];
const TAKES = {
    report: ["metric", "size", "by", "at", "since", ...FOCUS],
    diff: ["metric", "size", "by", "at", "since", ...FOCUS.filter((name) => name !== "process")], // of two recordings
    flame: ["metric", "size", "at", "since", ...FOCUS],
    leaks: ["since", ...FOCUS],
    threads: ["at", "since", ...FOCUS],
    peaks: ["at", "since", ...FOCUS],
    tree: ["at", "since", ...FOCUS],
    growth: FOCUS,
    findings: FOCUS,
    maps: ["at", "since", "process"],
    marks: ["process"],
};

// Metrics that are a state at a moment; the others are sums over a window.
const STATES = ["", "live", "peak", "sitepeak", "largest", "mapped", "pool", "gpu", "tensor", "untouched"];

// Frames of Python's import system, as a pattern for --fold.
export const IMPORT_SYSTEM =
    "^(_find_and_load|_find_and_load_unlocked|_find_spec|_load_unlocked|_load_backward_compatible|" +
    "_call_with_frames_removed|_handle_fromlist|_gcd_import|_compile_bytecode|_get_spec|_path_stat|_path_isfile|" +
    "module_from_spec|spec_from_file_location|cache_from_source|" +
    "(SourceFileLoader|SourceLoader|SourcelessFileLoader|FileLoader|FrozenImporter|BuiltinImporter|PathFinder|" +
    "FileFinder|_LoaderBasics|ExtensionFileLoader)\\..*)$";

export function metric_of(state) {
    return state.mode === "total" && STATES.includes(state.metric) ? "total" : state.metric;
}

// The words of a command for a state; `more` are the view's own.
export function words_of(command, state, more = []) {
    const takes = TAKES[command], words = [command];
    const give = (name, option, value) => {
        if (takes.includes(name) && value)
            words.push(option, value);
    };
    give("metric", "--metric", metric_of(state));
    give("size", "--size", state.size === "requested" ? "" : state.size);
    give("by", "--by", state.by === "function" || more.includes("--by") ? "" : state.by);
    give("since", "--since", state.mode === "at" ? "" : state.since || "start");
    give("at", "--at", state.at);
    give("process", "--process", state.process);
    for (const name of ["within", "ignore", "fold"]) {
        for (const pattern of state[name])
            give(name, "--" + name, pattern);
    }
    if (state.imports === "hidden")
        give("fold", "--fold", IMPORT_SYSTEM);
    give("thread", "--thread", state.thread);
    if (takes.includes("language") && state.language !== "both")
        words.push(`--${state.language}-only`);
    return [...words, ...more];
}

// The parts of a state that describe its question to a reader.
export function question_text(state, answer) {
    const metric = (answer && answer.metric) || metric_of(state) || "live";
    const title = METRIC_TITLES[metric] || metric;
    const at = state.at || "end", since = state.since || "start";
    if (state.mode === "at")
        return metric === "live" || metric === "mapped" ? `${title} at ${at}`
            : state.at ? `${title} up to ${at}`
                       : title;
    return state.mode === "difference" && (metric === "live" || metric === "mapped")
        ? `change of ${title} from ${since} to ${at}`
        : `${title} from ${since} to ${at}`;
}

export const METRIC_TITLES = {
    live: "live bytes",
    total: "bytes allocated",
    peak: "live bytes at the peak",
    sitepeak: "highest live bytes of each stack",
    largest: "largest single allocation",
    temporary: "bytes of temporary allocations",
    mapped: "mapped bytes",
    pool: "bytes of pools",
    gpu: "bytes of graphics processors",
    tensor: "bytes of tensors",
    untouched: "bytes never touched",
    touched: "bytes first touched",
    faults: "bytes of page faults",
    cpu: "CPU time",
    wall: "wall time",
    waiting: "waiting time",
    samples: "samples",
};

// What is counted beside a metric's bytes or time.
export function count_title(metric) {
    return {
        total: "calls",
        temporary: "calls",
        mapped: "maps",
        cpu: "samples",
        samples: "samples",
        waiting: "waits",
        wall: "times",
        faults: "faults",
        touched: "faults"
    }[metric] ||
        "blocks";
}

// "1 block", "2 calls".
export function count_text(n, metric) {
    return counted(n, count_title(metric).slice(0, -1));
}
