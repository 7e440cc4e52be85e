// summary: what matters most: the findings, each with a link to its evidence, and the numbers of the run.
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {amount, bytes, count, counted, fixed, place_of, shorten, time, whole_place} from "./format.js";
import {limits_of} from "./metric_limits.js";
import {estimate_text} from "./how_recorded.js";
import {name_columns, spread_lines, value_columns} from "./report.js";
import {change} from "./state.js";
import {data_table} from "./table.js";
import {has_times} from "./timeline.js";
import {question_text, words_of} from "./command_words.js";

// Where the evidence of each kind of finding is.
const EVIDENCE = {
    leak: {view: "leaks"},
    growth: {view: "growth"},
    mapped: {view: "flame", metric: "mapped"},
    shared: {view: "maps"},
    retention: {view: "growth"},
    fragmentation: {view: "growth"},
    peak: {view: "flame", metric: "peak"},
    churn: {view: "callers", metric: "temporary"},
    oversized: {view: "callers", metric: "untouched"},
    untouched: {view: "callers", metric: "untouched"},
    overhead: {view: "callers", size: "overhead"},
    chain: {view: "growth"},
};

function evidence_of(finding, many) {
    const to = {...(EVIDENCE[finding.kind] || {view: "callers"})};
    if (to.view === "callers")
        to.select = finding.function || "";
    if (to.view === "flame" || to.view === "leaks" || to.view === "table")
        to.search = finding.function ? finding.function.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&") : "";
    if (many && finding.pid)
        to.process = String(finding.pid);
    return to;
}

function finding_card(finding, number, many) {
    return el("article", {class: "finding", "data-kind": finding.kind},
        el("header", {}, el("span", {class: "number"}, number), el("span", {class: "tag"}, finding.kind),
            el("strong", {class: "amount", "data-value": finding.bytes}, bytes(finding.bytes))),
        el("h3", {title: finding.title}, shorten(finding.title, 140)),
        finding.function ? el("p", {class: "place", title: whole_place(finding)}, place_of(finding)) : null,
        el("p", {}, finding.why), el("p", {class: "do"}, el("b", {}, "Do: "), finding.do),
        el("footer", {},
            button("Show the evidence", () => change({search: "", ...evidence_of(finding, many)}), {class: "primary"}),
            finding.function ? button("Callers", () => change({view: "callers", select: finding.function}), {})
                             : null));
}

function number_tile(title, value, detail, go, raw) {
    const inside = [
        el("span", {class: "tile-title"}, title), el("strong", {"data-value": raw}, value),
        el("span", {class: "quiet"}, detail)
    ];
    return go ? button(inside, () => change(go), {class: "tile"}) : el("div", {class: "tile"}, inside);
}

// In an imported recording a number may be unknown.
function known_tile(title, number, value, details, go) {
    return number === null ? number_tile(title, "not known", "", null, "")
                           : number_tile(title, value, details.filter((part) => part).join(", "), go, number);
}

// Details of a total: the interval of an estimate, the spread over merged recordings.
function total_details(report, name) {
    const interval = report.intervals && report.intervals[name], spread = report.merged && report.merged.totals[name];
    return [
        interval && interval.low_bytes !== null && estimate_text(interval.low_bytes, interval.high_bytes),
        spread && `at most ${bytes(spread.max)} in one${spread.max_input ? ` (${spread.max_input})` : ""}`
    ];
}

// The totals are those of the chosen moment or window.
function tiles_of(report, leaks, state) {
    const t = report.totals, sampling = report.sampling || {}, window = state.mode !== "at";
    const tiles = [
        known_tile("peak", t.peak_bytes, bytes(t.peak_bytes), [t.peak_time_ns !== null && !report.merged && `at ${time(t.peak_time_ns)}`, ...total_details(report, "peak_bytes")],
            {view: "flame", metric: "peak"}),
        known_tile(window ? "change of live" : `live at ${state.at || "end"}`, t.live_bytes, bytes(t.live_bytes),
            [t.live_blocks !== null && `in ${counted(t.live_blocks, "block")}`, ...total_details(report, "live_bytes")], {view: "table", metric: "live"}),
        known_tile(window ? "allocated in the window" : "allocated", t.bytes_allocated, bytes(t.bytes_allocated),
            [t.allocations !== null && `in ${counted(t.allocations, "allocation")}`, ...total_details(report, "bytes_allocated")], {view: "table", metric: "total"}),
        known_tile("temporary", t.temporary_allocations,
            t.allocations ? `${fixed(t.temporary_allocations / t.allocations * 100, 1)} %` : "-",
            [`${count(t.temporary_allocations)} freed before the next`], {view: "table", metric: "temporary"}),
    ];
    if (leaks)
        tiles.push(number_tile(window ? `lost, allocated since ${state.since || "start"}` : "lost",
            leaks.unclassified_because ? "unknown" : bytes(leaks.totals.lost_bytes),
            leaks.unclassified_because || `in ${counted(leaks.totals.lost_blocks, "block")}`, {view: "leaks"},
            leaks.totals.lost_bytes));
    if (sampling.cpu_samples && report.unit === "samples")
        tiles.push(number_tile("samples", count(sampling.cpu_samples), "", {view: "flame", metric: "samples"},
            sampling.cpu_samples));
    else if (sampling.cpu_samples)
        tiles.push(number_tile("CPU", amount(sampling.cpu_ns, "ns"), `in ${counted(sampling.cpu_samples, "sample")}`,
            {view: "flame", metric: "cpu"}, sampling.cpu_ns));
    if (sampling.faults)
        tiles.push(number_tile("page faults", count(sampling.faults), bytes(sampling.fault_bytes),
            {view: "flame", metric: "faults"}, sampling.faults));
    if (report.python)
        tiles.push(number_tile("Python", report.python.version,
            report.python.arena_live_bytes ? `${bytes(report.python.arena_live_bytes)} in arenas` : "", null,
            report.python.arena_live_bytes));
    return el("section", {class: "tiles", "aria-label": "Numbers of the run"}, tiles);
}

async function draw_summary(state, timeline) {
    const which = Number(state.file),
          asked = {...state, metric: state.mode === "total" ? "total" : "", by: "function", size: "requested"};
    const nothing = () => null;
    const [findings, report, leaks] = await Promise.all([
        core.ask(summary_words(state), which).catch((problem) => ({findings: [], basis: problem.message, unknown: true})),
        core.ask(words_of("report", asked, ["--top", "5", "--json"]), which).catch(nothing),
        core.ask(words_of("leaks", asked, ["--top", "1", "--json"]), which).catch(nothing)
    ]);
    const list = findings.findings, many = report && report.processes.length > 1;
    const content = el("div", {class: "summary"}, limits_of(), report ? tiles_of(report, leaks, state) : null,
        el("h2", {}, list.length ? `${counted(list.length, "finding")}, the most worthwhile first`
                : findings.unknown || findings.clean === null ? "Whether anything is worth fixing is not known"
                                                              : "Nothing worth fixing was found"),
        el("section", {class: "findings"}, list.map((finding, i) => finding_card(finding, i + 1, many))),
        el("p", {class: "quiet basis"}, findings.basis),
        report ? [el("div", {class: "view-bar holders"}, el("h2", {}, `${question_text(asked, report)}: the largest`),
            button("All", () => change({view: "table", metric: asked.metric}), {id: "all-holders"})),
        spread_lines(report, state),
        data_table({columns: [...value_columns(report), ...name_columns("function")], rows: report.rows, name: "holders"})] : null);
    return {
        content,
        csv: () => core.csv(summary_words(state), which),
        picture: timeline && has_times(timeline) ? {element: () => document.querySelector("svg.timeline")} : null
    };
}

function summary_words(state) {
    return words_of("findings", state, ["--json"]);
}

export const summary_view = {
    id: "summary",
    title: "Summary",
    key: "s",
    uses: ["process", "moments", "focus"],
    words: summary_words,
    draw: draw_summary
};
