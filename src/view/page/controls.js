// controls: what is measured, when, and for which stacks. A control changes the state and nothing else.
import {core} from "./core.js";
import {button, el, replace, segmented, selection} from "./dom.js";
import {base_name, bytes, shorten} from "./format.js";
import {processes_with_words} from "./process_list.js";
import {change, state, unfiltered} from "./state.js";
import {METRIC_TITLES, metric_of, words_of} from "./command_words.js";

const METRICS = [
    "live", "total", "peak", "sitepeak", "largest", "temporary", "mapped", "pool", "gpu", "tensor",
    "untouched", "cpu", "samples", "wall", "waiting", "faults", "touched"
];
const OPTIONAL = [
    "mapped", "pool", "gpu", "tensor", "untouched", "cpu", "samples", "wall", "waiting", "faults", "touched"
];
const GROUPS = ["function", "line", "file", "library", "thread", "stack"];

// Why a metric is not in the recording, by its name; determined once, after the first screen.
const lacking = new Map();

export async function find_lacking_metrics(redraw) {
    lacking.clear();
    for (const metric of OPTIONAL) {
        try {
            const words = words_of("report", {...unfiltered(state), metric}, ["--top", "1", "--json"]);
            const answer = await core.ask(words, Number(state.file));
            if (!answer.sum.bytes && !answer.sum.count)
                lacking.set(metric, "the recording has none");
        } catch (problem) {
            lacking.set(metric, problem.message);
        }
    }
    redraw();
}

function metric_control(report) {
    const chosen = metric_of(state) || report.metric;
    return selection("Metric", METRICS.map((metric) => [metric, METRIC_TITLES[metric], lacking.get(metric)]), chosen,
        (metric) => change({metric, zoom: ""}), {id: "metric"});
}

function process_label(process) {
    return `${process.word} ${shorten(base_name(process.command[0] || "?"), 24)} · ${bytes(process.peak_bytes)}`;
}

function process_control(report) {
    if (report.processes.length < 2)
        return null;
    const choices = [
        ["", `largest (${report.pid})`], ["all", "all as one"],
        ...processes_with_words(report.processes).map((process) => [process.word, process_label(process)])
    ];
    return selection("Process", choices, state.process, (process) => change({process, zoom: ""}), {id: "process"});
}

function moment_input(name, moments) {
    const input = el("input", {
        id: name,
        value: state[name],
        placeholder: name === "at" ? "end" : "start",
        size: 9,
        list: "moments",
        "aria-label": name,
        spellcheck: "false",
        autocomplete: "off",
        title: "start, peak, exit, end, LABEL#N, 12.5s or 50%",
        onchange: () =>
            change(name === "since" ? {since: input.value.trim(), mode: state.mode === "at" ? "difference" : state.mode}
                                    : {at: input.value.trim()})
    });
    return el("label", {class: "field inline"}, el("span", {}, name), input);
}

function moment_control(moments) {
    const whole = !state.since && !state.at && state.mode === "at";
    const listed = moments.length > 400 ? moments.filter((moment) => moment.kind !== "mark") : moments;
    return el("span", {class: "moments"},
        segmented("Moment or window",
            [
                ["at", "At", "the state at one moment"], ["difference", "Difference", "what changed from since to at"],
                ["total", "Total in window", "what was allocated from since to at, freed or not"]
            ],
            state.mode, (mode) => change({mode, zoom: ""})),
        state.mode === "at" ? null : moment_input("since", moments), moment_input("at", moments),
        el("datalist", {id: "moments"}, listed.map((moment) => el("option", {value: moment.word}))),
        whole ? null
              : button("×", () => change({since: "", at: "", mode: "at"}),
                    {class: "icon", id: "whole-run", title: "the whole run", "aria-label": "the whole run"}));
}

const FILTERS = [["within", "only through"], ["ignore", "without"], ["fold", "fold away"]];

export function add_filter(kind, pattern) {
    if (pattern && !state[kind].includes(pattern))
        change({[kind]: [...state[kind], pattern], zoom: ""});
}

function filter_control() {
    const kind = el("select", {id: "filter-kind", "aria-label": "kind of filter"},
        FILTERS.map(([value, text]) => el("option", {value}, text)));
    const input = el("input", {
        id: "filter",
        placeholder: "functions (regular expression)",
        "aria-label": "filter",
        size: 24,
        spellcheck: "false",
        autocomplete: "off",
        onkeydown: (event) => {
            if (event.key === "Enter")
                add_filter(kind.value, input.value.trim());
        }
    });
    const chips = FILTERS.flatMap(
        ([name, text]) => state[name].map(
            (pattern) =>
                el("span", {class: "chip"}, el("b", {}, text), " ", el("span", {title: pattern}, shorten(pattern, 40)),
                    button("×", () => change({[name]: state[name].filter((one) => one !== pattern), zoom: ""}),
                        {class: "icon", "aria-label": `remove ${text} ${pattern}`}))));
    if (state.thread)
        chips.push(el("span", {class: "chip"}, el("b", {}, "thread"), ` ${state.thread}`,
            button("×", () => change({thread: ""}), {class: "icon", "aria-label": "all threads"})));
    return el("span", {class: "filters"}, chips,
        el("span", {class: "adder"}, kind, input,
            button("Add", () => add_filter(kind.value, input.value.trim()), {id: "add-filter"})));
}

function language_control(report) {
    if (!report.python)
        return null;
    return [
        segmented("Language", [["both", "All frames"], ["python", "Python"], ["native", "Native"]], state.language,
            (language) => change({language, zoom: ""})),
        el("label", {class: "check"}, el("input", {
            type: "checkbox",
            id: "imports",
            checked: state.imports === "hidden",
            onchange: (event) => change({imports: event.target.checked ? "hidden" : "shown", zoom: ""})
        }),
            "hide the import system")
    ];
}

function search_control() {
    let timer = 0;
    const input = el("input", {
        id: "search",
        type: "search",
        value: state.search,
        placeholder: "search ( / )",
        size: 16,
        "aria-label": "search",
        spellcheck: "false",
        autocomplete: "off",
        oninput: () => {
            clearTimeout(timer);
            timer = setTimeout(() => change({search: input.value}, true), 120);
        }
    });
    return input;
}

// Draws the controls that a view uses; the focused one keeps the focus.
export function draw_controls(box, view, report, moments) {
    const active = document.activeElement, keep = box.contains(active) && active.id ? active.id : "";
    const start = keep && "selectionStart" in active ? active.selectionStart : null;
    const uses = (name) => view.uses.includes(name);
    replace(box,
        el("div", {class: "control-row"},
            core.files.length > 1 && view.id !== "diff"
                ? selection("File", core.files.map((name, i) => [String(i), shorten(base_name(name), 30)]), state.file,
                      (file) => change({file, process: ""}), {id: "file"})
                : null,
            uses("process") ? process_control(report) : null, uses("metric") ? metric_control(report) : null,
            uses("by")
                ? selection("By", GROUPS.map((by) => [by, by]), state.by, (by) => change({by, sort: ""}), {id: "by"})
                : null,
            uses("metric")
                ? selection("Sizes", [["requested", "requested"], ["usable", "usable"], ["overhead", "overhead"]],
                      state.size, (size) => change({size}), {id: "size"})
                : null,
            uses("moments") ? moment_control(moments) : null, uses("search") ? search_control() : null),
        uses("focus") ? el("div", {class: "control-row"}, filter_control(), language_control(report)) : null);
    const again = keep && document.getElementById(keep);
    if (again) {
        again.focus();
        if (start !== null && again.setSelectionRange && again.type !== "checkbox")
            again.setSelectionRange(start, start);
    }
}
