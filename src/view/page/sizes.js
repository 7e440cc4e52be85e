// sizes: how each function's blocks are distributed over sizes or lifetimes, as a heat map.
import {core} from "./core.js";
import {el, segmented} from "./dom.js";
import {bytes, count, highest, time} from "./format.js";
import {csv_of} from "./save.js";
import {rows_matching} from "./search.js";
import {change} from "./state.js";
import {function_link} from "./stacks.js";
import {words_of} from "./command_words.js";

const FUNCTIONS = 40;

function sizes_words(now) {
    // Histograms exist for the whole run only.
    const histogram = {...now, metric: "", by: "function", size: "requested", mode: "at", at: ""};
    return words_of(
        "report", histogram, ["--histogram", now.spread, "--by", "function", "--top", String(FUNCTIONS), "--json"]);
}

// All buckets that occur, in order: [{from, to}]; blocks that were never freed come last.
function bucket_columns(histogram) {
    const columns = histogram.buckets.map(({from, to}) => ({from, to}));
    return histogram.never ? [...columns, {never: true}] : columns;
}

function bucket_count(histogram, column) {
    if (column.never)
        return histogram.never || 0;
    const bucket = histogram.buckets.find((one) => one.from === column.from);
    return bucket ? bucket.count : 0;
}

function column_title(column, kind) {
    if (column.never)
        return "never";
    const text = kind === "size" ? bytes : time;
    return kind === "size"                              ? text(column.from)
        : column.to === null || column.to === undefined ? `≥ ${text(column.from)}`
                                                        : `< ${text(column.to)}`;
}

function column_hint(column, kind) {
    const text = kind === "size" ? bytes : time;
    return column.never ? "never freed" : `${text(column.from)} to ${column.to ? text(column.to) : "any"}`;
}

// Darker is more, on a logarithmic scale; the number is in the cell, so colour is not essential.
function heat_cell(n, most, hint) {
    const depth = n ? 0.12 + 0.78 * Math.log1p(n) / Math.log1p(most) : 0;
    const cell =
        el("td", {class: `heat${depth > 0.55 ? " deep" : ""}`, "data-value": n, title: hint}, n ? short_count(n) : "");
    cell.style.setProperty("--heat", String(depth));
    return cell;
}

function short_count(n) {
    return n < 10000 ? count(n)
        : n < 1e6    ? `${Math.round(n / 1e3)}k`
           : n < 1e9 ? `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)}M`
                     : `${(n / 1e9).toFixed(1)}G`;
}

async function draw_sizes(now) {
    const answer = await core.ask(sizes_words(now), Number(now.file)), kind = now.spread;
    const columns = bucket_columns(answer.histogram),
          rows = rows_matching(
              answer.rows.filter((row) => row.self_count), [{left: true, value: (row) => row.name}], now.search);
    const counts = rows.map((row) => columns.map((column) => bucket_count(row.histogram, column)));
    const most = highest(counts.flat(), 1), all = columns.map((column) => bucket_count(answer.histogram, column));
    const line = (title, values, whole, node) => el("tr", {}, el("th", {class: "left name", scope: "row", title}, node),
        values.map((n, i) => heat_cell(n, whole, `${title}: ${count(n)} blocks, ${column_hint(columns[i], kind)}`)));
    const table = el("table", {class: "data heatmap", "data-name": "sizes"},
        el("thead", {},
            el("tr", {},
                el("th", {class: "left", scope: "col"},
                    kind === "size" ? "blocks by size, from" : "blocks by lifetime"),
                columns.map((column) => el(
                                "th", {scope: "col", title: column_hint(column, kind)}, column_title(column, kind))))),
        el("tbody", {}, line("all functions", all, highest(all, 1), el("b", {}, "all functions")),
            rows.map((row, i) => line(row.name, counts[i], most, function_link(row.name, 44, {metric: "total"})))));
    const content = el("div", {},
        el("div", {class: "view-bar"},
            el("h2", {}, kind === "size" ? "How large are its blocks?" : "How long do its blocks live?"),
            segmented(
                "Spread over", [["size", "Sizes"], ["lifetime", "Lifetimes"]], kind, (spread) => change({spread})),
            el("span", {class: "quiet"},
                `${count(answer.sum.count)} allocations; the ${count(rows.length)} functions with most bytes`)),
        el("p", {class: "quiet"}, "A recording has the sizes and the lifetimes of a function's blocks each for itself, so how long " +
            "its blocks of one size live is not known."),
        el("div", {class: "scroll-x"}, table));
    return {
        content,
        csv: async () => csv_of([
            ["function", ...columns.map((column) => column_hint(column, kind))], ["all functions", ...all],
            ...rows.map((row, i) => [row.name, ...counts[i]])
        ])
    };
}

export const sizes_view = {
    id: "sizes",
    title: "Sizes, lifetimes",
    key: "z",
    uses: ["process", "focus", "search"],
    words: sizes_words,
    draw: draw_sizes
};
