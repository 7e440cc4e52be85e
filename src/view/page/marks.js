// marks: the sizes of the process at each mark, with one small picture for each size.
import {Chart, picture_width} from "./chart.js";
import {core} from "./core.js";
import {button, el, selection} from "./dom.js";
import {bytes, count, highest, lowest, time} from "./format.js";
import {change, state} from "./state.js";
import {data_table} from "./table.js";
import {words_of} from "./command_words.js";

function marks_words(now) {
    return words_of("marks", now, [...(now.label ? ["--label", now.label] : []), "--json"]);
}

// The pictures: for a state its value, for a counter what each mark added.
const PICTURES = [
    {title: "live heap", of: (mark) => mark.live_bytes, text: bytes},
    {title: "RSS", of: (mark) => mark.rss_bytes, text: bytes},
    {title: "VM", of: (mark) => mark.vm_bytes, text: bytes},
    {title: "live blocks", of: (mark) => mark.live_blocks, text: count},
    {
        title: "allocations since the mark before",
        of: (mark, before) => before ? mark.allocations - before.allocations : null,
        text: count
    },
    {
        title: "page faults since the mark before",
        of: (mark, before) => before ? mark.faults - before.faults : null,
        text: count
    },
    {
        title: "time since the mark before",
        of: (mark, before) => before ? mark.time_ns - before.time_ns : null,
        text: time
    },
    {title: "free in the allocator", of: (mark) => mark.allocator_free_bytes, text: bytes},
];

function series_of(marks, of) {
    return marks.map((mark, i) => [i + 1, of(mark, marks[i - 1])]).filter(([,
        value]) => value !== null && value !== undefined);
}

function mark_figure(picture, marks, width) {
    const points = series_of(marks, picture.of);
    if (points.length < 2 || points.every(([, value]) => value === 0))
        return null;
    const values = points.map(([, value]) => value), low = lowest(values), top = highest(values),
          room = (top - low) * 0.1 || top * 0.05 || 1;
    const chart = new Chart({
        width,
        height: 120,
        x: [points[0][0], points[points.length - 1][0]],
        y: [Math.max(low - room, 0), top + room],
        format_x: count,
        format_y: picture.text,
        x_ticks: 4,
        y_ticks: 3,
        margin: {left: 66, bottom: 18},
        binary: picture.text === bytes,
        label: `${picture.title} at each mark`
    });
    chart.steps(points, {class: "live-line"});
    return el("figure", {class: "small"},
        el("figcaption", {}, el("b", {}, picture.title),
            el("span", {class: "quiet"}, ` ${picture.text(low)} to ${picture.text(top)}`)),
        chart.svg);
}

function scopes_table(scopes) {
    const keys = scopes.length ? Object.keys(scopes[0]).filter((key) => typeof scopes[0][key] === "number") : [];
    const text = (key) => key.endsWith("_bytes") ? bytes : key.endsWith("_ns") ? time : count;
    return data_table({
        rows: scopes,
        name: "scopes",
        columns: [
            {key: "name", title: "scope", left: true, value: (row) => row.name || row.label}, ...keys.map((key) => ({
                key,
                title: key.replace(/_(bytes|ns)$/, "").replaceAll("_", " "),
                value: (row) => row[key],
                text: (row, n) => text(key)(n)
            }))
        ]
    });
}

function marks_columns() {
    const bytes_of = (key, title) => ({key, title, value: (row) => row[key], text: (row, n) => bytes(n)});
    return [
        {key: "label", title: "mark", left: true, value: (row) => `${row.label}#${row.index}`},
        {key: "time", title: "time", value: (row) => row.time_ns, text: (row, n) => time(n)},
        bytes_of("live_bytes", "live"),
        bytes_of("rss_bytes", "RSS"),
        bytes_of("vm_bytes", "VM"),
        bytes_of("anon_bytes", "anonymous"),
        bytes_of("allocator_free_bytes", "allocator free"),
        {key: "live_blocks", title: "blocks", value: (row) => row.live_blocks, text: (row, n) => count(n)},
        {key: "allocations", title: "allocations", value: (row) => row.allocations, text: (row, n) => count(n)},
        {key: "faults", title: "faults", value: (row) => row.faults, text: (row, n) => count(n)},
        {
            key: "values",
            title: "values",
            left: true,
            value: (row) => Object.entries(row.values).map(([key, value]) => `${key}=${value}`).join(" ")
        },
        {
            key: "go",
            title: "",
            left: true,
            value: () => "",
            node: (row) => [button("at", () => change({at: `${row.label}#${row.index}`}), {class: "link"}), " ",
                button("since",
                    () => change(
                        {since: `${row.label}#${row.index}`, mode: state.mode === "at" ? "difference" : state.mode}),
                    {class: "link"})]
        },
    ];
}

async function draw_marks_view(now) {
    const which = Number(now.file), [all, scopes] = await Promise.all([
        core.ask(words_of("marks", now, ["--json"]), which),
        core.ask(words_of("marks", now, ["--scopes", "--json"]), which).catch(() => ({scopes: []}))
    ]);
    const labels = [...new Set(all.marks.map((mark) => mark.label))],
          answer = now.label ? await core.ask(marks_words(now), which) : all;
    const most = labels.map((label) => [label, answer.marks.filter((mark) => mark.label === label)])
                     .sort((a, b) => b[1].length - a[1].length)[0];
    const each = picture_width(310);
    const pictures = most ? PICTURES.map((picture) => mark_figure(picture, most[1], each)).filter(Boolean) : [];
    const content = el("div", {},
        el("div", {class: "view-bar"},
            el("h2", {}, `${count(answer.marks.length)} ${labels.some(Boolean) ? "marks" : "stamps of the collector"}`),
            labels.length > 1 ? selection("Label", [["", "all"], ...labels.map((label) => [label, label])], now.label,
                                    (label) => change({label}), {id: "label"})
                              : null,
            most && most[0] ? el("span", {class: "quiet"}, `pictures: ${count(most[1].length)} × ${most[0]}`) : null),
        el("div", {class: "multiples"}, pictures),
        scopes.scopes.length ? [el("h2", {}, "Scopes"), scopes_table(scopes.scopes)] : null, el("h2", {}, "Table"),
        data_table({
            columns: marks_columns(),
            rows: answer.marks,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            name: "marks"
        }));
    return {
        content,
        csv: () => core.csv(marks_words(now), which),
        picture: pictures.length ? {element: () => content.querySelector(".multiples")} : null
    };
}

export const marks_view = {
    id: "marks",
    title: "Marks",
    key: "k",
    uses: ["process", "search"],
    words: marks_words,
    draw: draw_marks_view
};
