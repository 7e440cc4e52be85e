// timeline: the heap and the resident memory over time, with marks, peaks and CPU time; and a brush that chooses
// --since and --at.
import {Chart} from "./chart.js";
import {core} from "./core.js";
import {el, replace, sv} from "./dom.js";
import {bytes, count, highest, time} from "./format.js";
import {named_moments, neighbour, ribbon_runs, time_of, word_at} from "./moments.js";
import {change, state, unfiltered} from "./state.js";
import {words_of} from "./command_words.js";

const SNAP_PX = 7;

// The parts of resident memory, from `growth`; they add up to the RSS.
const RIBBON = [
    {title: "live blocks", color: "var(--r-live)", of: (f) => f.live_bytes + f.rounding_bytes},
    {title: "Python arenas", color: "var(--r-python)", of: (f) => f.python_arenas_bytes},
    {title: "free in the allocator", color: "var(--r-free)", of: (f) => f.free_bytes + f.held_bytes},
    {title: "mapped", color: "var(--r-mapped)", of: (f) => f.mapped_bytes + f.shared_bytes},
    {title: "stacks", color: "var(--r-stacks)", of: (f) => f.stacks_bytes},
    {title: "program and files", color: "var(--r-files)", of: (f) => f.text_bytes + f.data_bytes + f.files_bytes},
    {title: "other", color: "var(--r-other)", of: (f) => f.kernel_bytes + f.unknown_bytes + f.unexplained_bytes},
    {title: "tidemark's own", color: "var(--r-recorder)", of: (f) => f.recorder_bytes},
];

const nothing = () => null;

// Everything that the timeline of a process shows; empty if a recording lacks it.
export async function timeline_data(now) {
    const plain = unfiltered(now);
    const which = Number(now.file),
          ask = (command, ...more) => core.ask(words_of(command, plain, [...more, "--json"]), which).catch(nothing);
    const report = await core.ask(words_of("report", plain, ["--top", "1", "--json"]), which);
    const stamps = await ask("marks", "--stamps"), stamped = stamps ? stamps.marks : [];
    const marks = stamped.filter((mark) => mark.label);
    const data = {
        report,
        marks,
        peaks: [],
        footprints: [],
        cpu: [],
        duration_ns: report.duration_ns,
        peak_bytes: report.totals.peak_bytes,
        peak_ns: report.totals.peak_bytes ? report.totals.peak_time_ns : null,
        live: stamped.map((mark) => [mark.time_ns, mark.live_bytes]),
        rss: stamped.filter((mark) => mark.rss_bytes).map((mark) => [mark.time_ns, mark.rss_bytes]),
    };
    data.moments = named_moments(data.duration_ns, data.peak_ns, marks, []);
    data.later = async (redraw) => {
        await later_data(data, ask);
        redraw();
        await cpu_over_time(data, plain, which, redraw);
    };
    return data;
}

// Does the recording have a course over time? An imported one may have no times, and a merged one has many runs.
export function has_times(data) {
    return data.duration_ns !== null && !data.report.merged;
}

// Data that takes too long for the first screen: each step of the heap, the parts of RSS, the peaks.
async function later_data(data, ask) {
    const [threads, growth, peaks] =
        await Promise.all([ask("threads", "--top", "1"), ask("growth"), ask("peaks", "--top", "12")]);
    if (threads && threads.moments_ns.length)
        data.live = threads.moments_ns.map((at, i) => [at, threads.process[i]]);
    data.footprints = growth && growth.footprints ? growth.footprints : [];
    data.peaks = peaks ? [...peaks.peaks].sort((a, b) => b.bytes - a.bytes).slice(0, 12) : [];
    data.moments = named_moments(data.duration_ns, data.peak_ns, data.marks, data.peaks);
}

// CPU time of each part of the run.
async function cpu_over_time(data, plain, which, redraw) {
    if (data.cpu.length || data.report.unit === "samples" || !data.report.sampling || !data.report.sampling.cpu_samples || !data.duration_ns)
        return;
    const answer = await core.ask(words_of("report", {...plain, metric: "cpu"}, ["--top", "1", "--json"]), which);
    let from = answer.since_ns;
    data.cpu = answer.sampling.cpu_over_time.map((part) => ({from, to: from = part.end_ns, ns: part.cpu_ns}));
    redraw();
}

function draw_marks(chart, data) {
    const {bottom} = chart.margin, crowded = data.marks.length > chart.width / 4;
    const step = Math.max(1, Math.floor(data.marks.length / (chart.width / 5)));
    for (let i = 0; i < data.marks.length; i += step) {
        const mark = data.marks[i], x = chart.at_x(mark.time_ns);
        chart.add("line", {
            class: "mark" + (crowded ? " crowded" : ""),
            x1: x,
            x2: x,
            y1: chart.height - bottom,
            y2: crowded ? chart.height - bottom - 5 : chart.height - bottom - 8
        },
            sv("title", {}, `${mark.label}#${mark.index} at ${time(mark.time_ns)}: live ${bytes(mark.live_bytes)}`));
    }
    if (data.peak_ns !== null) {
        const x = chart.at_x(data.peak_ns), y = chart.at_y(data.peak_bytes);
        chart.add("path", {class: "peak-flag", d: `M${x},${y - 3}l-4,-7h8z`},
            sv("title", {}, `peak ${bytes(data.peak_bytes)} at ${time(data.peak_ns)}`));
        const near_end = x > chart.width - 120;
        chart.text(x + (near_end ? -8 : 8), y - 4, `peak ${bytes(data.peak_bytes)}`,
            {class: "note", "text-anchor": near_end ? "end" : "start"});
    }
    for (const peak of data.peaks.slice(0, 12)) {
        if (Math.abs(chart.at_x(peak.time_ns) - chart.at_x(data.peak_ns ?? -1)) < 8)
            continue;
        const x = chart.at_x(peak.time_ns), y = chart.at_y(peak.bytes);
        chart.add("circle", {class: "small-peak", cx: x, cy: y, r: 2.5},
            sv("title", {}, `peak ${peak.number} of ${peak.thread}: ${bytes(peak.bytes)} at ${time(peak.time_ns)}`));
    }
}

function draw_cpu(chart, data) {
    const height = 14, rate = (part) => part.ns / (part.to - part.from);
    const parts = data.cpu.filter((part) => part.to > part.from), most = highest(parts.map(rate));
    for (const part of parts) {
        const x = chart.at_x(part.from), width = Math.max(chart.at_x(part.to) - x - 0.5, 0.5);
        const tall = most ? height * rate(part) / most : 0;
        chart.add("rect", {class: "cpu", x, width, y: 4 + height - tall, height: tall},
            sv("title", {}, `CPU ${time(part.ns)} from ${time(part.from)} to ${time(part.to)}`));
    }
    if (data.cpu.length)
        chart.text(chart.margin.left - 6, 15, "CPU", {class: "axis", "text-anchor": "end"});
}

// The parts of RSS were measured only now and then. Between two measurements a ribbon is drawn if the RSS agrees with
// it; a single measurement is drawn as a column.
function draw_ribbon(chart, data) {
    for (const run of ribbon_runs(data.footprints, data.rss)) {
        const alone = run.length === 1, half = (data.duration_ns / chart.width) * 5;
        const xs = alone ? [run[0].time_ns - half, run[0].time_ns + half] : run.map((f) => f.time_ns);
        const shown = alone ? [run[0], run[0]] : run;
        const layers = RIBBON.map((layer) => ({...layer, values: shown.map(layer.of)}));
        chart.stack(xs, layers.filter((layer) => layer.values.some((value) => value > 0)));
    }
}

// The chosen window or moment, drawn over the lines.
function draw_brush(chart, data) {
    const at = time_of(state.at || "end", data.moments, data.duration_ns);
    const since = state.mode === "at" ? null : time_of(state.since || "start", data.moments, data.duration_ns);
    const {top, bottom} = chart.margin, height = chart.height - top - bottom;
    const group = sv("g", {class: "brush"});
    if (since !== null && at !== null) {
        const x = chart.at_x(Math.min(since, at)), end = chart.at_x(Math.max(since, at));
        group.append(sv("rect", {class: "window", x, width: Math.max(end - x, 1), y: top, height}));
    }
    for (const [when, name] of [[since, "since"], [at, "at"]]) {
        if (when === null || (name === "at" && !state.at && state.mode === "at"))
            continue;
        const x = chart.at_x(when);
        group.append(sv("line", {class: "edge " + name, x1: x, x2: x, y1: top, y2: top + height}));
    }
    return group;
}

function legend_of(data) {
    const one = (name, style, kind) => el("span", {class: "key"}, el("i", {class: kind, style}), name);
    const ribbon =
        data.footprints.length > 1 ? RIBBON.filter((layer) => data.footprints.some((f) => layer.of(f) > 0)) : [];
    return el("div", {class: "legend"}, one("live heap", "background:var(--live)", "line-key"),
        data.rss.length ? one("RSS", "background:var(--rss)", "line-key dashed") : null,
        ribbon.map((layer) => one(layer.title, `background:${layer.color}`, "")),
        data.marks.length ? one(`${count(data.marks.length)} marks`, "background:var(--mark)", "line-key") : null);
}

// Draws the timeline into a box. `tall`: with ribbon and legend; otherwise as a strip above the other views.
export function draw_timeline(box, data, tall) {
    const width = Math.max((box.clientWidth || 900) - 12, 260), height = tall ? 240 : 100;
    const rss_max = highest([...data.rss.map(([, value]) => value), ...data.footprints.map((f) => f.rss_bytes)]);
    const live_max = highest(data.live.map(([, value]) => value), Math.max(data.peak_bytes, 1));
    const chart = new Chart({
        width,
        height,
        x: [0, data.duration_ns],
        y: [0, Math.max(live_max, rss_max) * 1.08],
        margin: {
            top: (tall ? 20 : 14) + (data.report.sampling && data.report.sampling.cpu_samples ? 14 : 0),
            bottom: tall ? 24 : 18,
            left: width < 500 ? 52 : 64
        },
        x_ticks: width < 500 ? 3 : 8,
        y_ticks: tall ? 5 : 2,
        format_x: time,
        format_y: bytes,
        label: "Heap and resident memory over time"
    });
    chart.svg.setAttribute("class", "chart timeline");
    chart.svg.setAttribute("tabindex", "0");
    if (tall)
        draw_ribbon(chart, data);
    chart.area(data.live, {class: tall ? "live-area faint" : "live-area"});
    chart.line(data.rss, {class: "rss-line"});
    chart.steps(data.live, {class: "live-line"});
    draw_cpu(chart, data);
    draw_marks(chart, data);
    const brush = draw_brush(chart, data);
    chart.svg.append(brush);
    const hint = el("output", {class: "timeline-hint"});
    attach_brush(chart, data, brush, hint);
    replace(box, chart.svg, el("div", {class: "timeline-foot"}, tall ? legend_of(data) : null, hint));
}

// Values under the mouse: the last step of the heap and the last stamp of the RSS before that time.
function values_at(points, when) {
    let low = 0, high = points.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (points[middle][0] <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? points[low - 1][1] : null;
}

function attach_brush(chart, data, brush, hint) {
    const svg = chart.svg;
    const reach = data.duration_ns / Math.max(chart.width - chart.margin.left - chart.margin.right, 1);
    const at_event = (event) => {
        const rect = svg.getBoundingClientRect();
        return chart.value_x((event.clientX - rect.left) / rect.width * chart.width);
    };
    const word = (event) => word_at(at_event(event), data.moments, reach * SNAP_PX);
    let begun = null;
    svg.addEventListener("pointerdown", (event) => {
        if (event.button)
            return;
        begun = {x: event.clientX, word: word(event), shift: event.shiftKey};
        svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
        const now = word(event), when = at_event(event);
        const heap = values_at(data.live, when), rss = values_at(data.rss, when);
        hint.textContent = [
            begun && Math.abs(event.clientX - begun.x) > 3 ? `${begun.word} to ${now}` : now,
            heap === null ? "" : `live ${bytes(heap)}`, rss === null ? "" : `RSS ${bytes(rss)}`
        ].filter(Boolean).join(" · ");
        if (begun && Math.abs(event.clientX - begun.x) > 3) {
            const from = chart.at_x(time_of(begun.word, data.moments, data.duration_ns) ?? 0);
            const to = chart.at_x(time_of(now, data.moments, data.duration_ns) ?? 0);
            replace(brush, sv("rect", {
                class: "window",
                x: Math.min(from, to),
                width: Math.abs(to - from),
                y: chart.margin.top,
                height: chart.height - chart.margin.top - chart.margin.bottom
            }));
        }
    });
    svg.addEventListener("pointerup", (event) => {
        if (!begun)
            return;
        const now = word(event), moved = Math.abs(event.clientX - begun.x) > 3;
        choose_moments(data, begun, now, moved);
        begun = null;
    });
    svg.addEventListener("pointerleave", () => { hint.textContent = ""; });
    svg.addEventListener("dblclick", () => change({since: "", at: "", mode: "at"}));
    svg.addEventListener("keydown", (event) => move_by_key(event, data));
}

function choose_moments(data, begun, now, moved) {
    if (!moved) {
        change(begun.shift ? {since: now, mode: state.mode === "at" ? "difference" : state.mode} : {at: now});
        return;
    }
    const time_now = time_of(now, data.moments, data.duration_ns);
    const first = time_of(begun.word, data.moments, data.duration_ns);
    const [since, at] = first <= time_now ? [begun.word, now] : [now, begun.word];
    change({since, at, mode: state.mode === "at" ? "difference" : state.mode});
}

// The arrow keys move from one named moment to the next; with shift they move "since".
function move_by_key(event, data) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step)
        return;
    const name = event.shiftKey ? "since" : "at";
    const from = time_of(state[name] || (name === "at" ? "end" : "start"), data.moments, data.duration_ns) ?? 0;
    const next = neighbour(from, data.moments, step);
    event.preventDefault();
    event.stopPropagation();
    if (next)
        change(
            name === "since" ? {since: next, mode: state.mode === "at" ? "difference" : state.mode} : {at: next}, true);
}
