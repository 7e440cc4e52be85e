// diff: the second recording minus the first.
import {Chart, picture_width} from "./chart.js";
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {
    amount,
    base_name,
    bytes,
    count,
    fixed,
    highest,
    lowest,
    shorten,
    signed,
    time
} from "./format.js";
import {limits_of} from "./metric_limits.js";
import {change} from "./state.js";
import {function_link, WHERE_COLUMN} from "./stacks.js";
import {data_table} from "./table.js";
import {METRIC_TITLES, words_of} from "./command_words.js";

function diff_words(now) {
    return words_of("diff", now, ["--json"]);
}

function total_tile(title, a, b, text, go) {
    const inside = [
        el("span", {class: "tile-title"}, title), el("strong", {"data-value": b - a}, signed(text(b - a), b - a)),
        el("span", {class: "quiet"},
            `${text(a)} → ${text(b)}${a ? ` (${signed(fixed((b / a - 1) * 100, 1), b - a)} %)` : ""}`)
    ];
    return button(inside, () => change(go), {class: "tile"});
}

function diff_columns(answer, unit) {
    const most = highest(answer.rows.map((row) => Math.abs(row.change_bytes ?? row.bytes ?? 0)), 1);
    const value = (key, title) => ({key, title, value: (row) => row[key], text: (row, n) => amount(n, unit)});
    const first = [
        {
            key: "change",
            title: "change",
            value: (row) => row.change_bytes,
            text: (row, n) => signed(amount(n, unit), n),
            share: (row) => row.change_bytes / most,
            hint: (row) => count(row.change_bytes)
        },
        {
            key: "percent",
            title: "%",
            value: (row) => row.status === "new" ? Infinity : row.change_percent,
            text: (row) => row.status === "new" || row.status === "gone" ? row.status
                : row.change_percent === null                            ? ""
                                              : signed(fixed(row.change_percent, 1), row.change_percent)
        },
        value("a_bytes", "a"),
        value("b_bytes", "b"),
        {key: "count", title: "count", value: (row) => row.change_count, text: (row, n) => signed(count(n), n)},
    ];
    if (answer.by !== "thread" && answer.by !== "stack")
        first.push({
            key: "total",
            title: "total",
            value: (row) => row.change_total_bytes,
            text: (row, n) => signed(amount(n, unit), n)
        });
    const name = (row) =>
        answer.by === "stack" && row.stack && row.stack.length ? row.stack[0].function : row.name || "";
    return [
        ...first, {
            key: "name",
            title: answer.by,
            left: true,
            value: name,
            hint: name,
            node: (row) => answer.by === "function" || answer.by === "line"
                ? function_link(name(row))
                : el("span", {class: "name"}, shorten(name(row), 90))
        },
        WHERE_COLUMN
    ];
}

// The live heap at the marks that both recordings have.
function marks_chart(marks, width) {
    if (!marks || marks.length < 2)
        return null;
    const of = (side) => marks.map((mark, i) => [i + 1, mark[side].live_bytes]),
          values = [...of("a"), ...of("b")].map(([, value]) => value);
    const low = lowest(values), top = highest(values), room = (top - low) * 0.1 || 1;
    const chart = new Chart({
        width,
        height: 190,
        x: [1, marks.length],
        y: [Math.max(low - room, 0), top + room],
        format_x: count,
        format_y: bytes,
        label: "live heap of both at their marks"
    });
    chart.steps(of("a"), {class: "rss-line"});
    chart.steps(of("b"), {class: "live-line"});
    return el("figure", {class: "small"},
        el("figcaption", {}, el("b", {}, "Live heap at the marks that both have"),
            el("div", {class: "legend"},
                el("span", {class: "key"}, el("i", {class: "line-key dashed"}), `a: ${base_name(core.files[0])}`),
                el("span", {class: "key"}, el("i", {class: "line-key", style: "background:var(--live)"}),
                    `b: ${base_name(core.files[1])}`))),
        chart.svg);
}

async function draw_diff(now) {
    const answer = await core.ask(diff_words(now)), {a, b} = answer.totals,
          unit = ["cpu", "wall", "waiting"].includes(answer.metric) ? "ns"
        : answer.metric === "samples"                                 ? "samples"
                                                                      : "bytes";
    const content = el("div", {}, limits_of(),
        el("div", {class: "pair"},
            ["a", "b"].map(
                (side) => el("p", {}, el("b", {}, `${side} `),
                    el("span", {class: "name"}, base_name(core.files[side === "a" ? 0 : 1])),
                    el("span", {class: "quiet"},
                        ` ${shorten(answer[side].command.join(" "), 60)} · ${time(answer[side].duration_ns)}`)))),
        el("section", {class: "tiles"}, total_tile("peak", a.peak_bytes, b.peak_bytes, bytes, {metric: "peak"}),
            total_tile("live", a.live_bytes, b.live_bytes, bytes, {metric: "live"}),
            total_tile("allocated", a.bytes_allocated, b.bytes_allocated, bytes, {metric: "total"}),
            total_tile("allocations", a.allocations, b.allocations, count, {metric: "total"}),
            total_tile("temporary", a.temporary_allocations, b.temporary_allocations, count, {metric: "temporary"})),
        marks_chart(answer.marks, picture_width(5000)),
        el("div", {class: "view-bar"},
            el("h2", {}, `b minus a, ${METRIC_TITLES[answer.metric] || answer.metric} by ${answer.by}`),
            el("strong", {id: "sum", "data-value": answer.sum.change.bytes},
                signed(amount(answer.sum.change.bytes, unit), answer.sum.change.bytes)),
            el("span", {class: "quiet"},
                Object.entries(answer.rows_by_status)
                    .filter(([, n]) => n)
                    .map(([status, n]) => `${count(n)} ${status}`)
                    .join(", ")),
            button(
                "As a flame graph", () => change({view: "flame", color: "difference", zoom: ""}), {id: "diff-flame"})),
        data_table({
            columns: diff_columns(answer, unit),
            rows: answer.rows,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            name: "diff"
        }));
    const svg = content.querySelector("svg");
    return {content, csv: () => core.csv(diff_words(now)), picture: svg ? {element: () => svg} : null};
}

export const diff_view = {
    id: "diff",
    title: "Difference",
    key: "d",
    needs: () => core.files.length > 1,
    timeline: false,
    uses: ["metric", "by", "moments", "focus", "search"],
    words: diff_words,
    draw: draw_diff
};
