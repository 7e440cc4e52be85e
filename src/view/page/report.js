// report: the table of `report`, by function, line, file, library, thread or stack.
import {add_filter} from "./controls.js";
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {amount, count, counted, pattern_of, percent, place_of, shorten, signed, told_name, whole_place} from "./format.js";
import {estimate_text, outliers_text, spread_text} from "./how_recorded.js";
import {matched_share} from "./search_share.js";
import {change} from "./state.js";
import {function_link, stack_list} from "./stacks.js";
import {data_table} from "./table.js";
import {count_text, count_title, question_text, words_of} from "./command_words.js";

const ASKED_FIRST = 1000, PAUSE_MS = 80; // PAUSE_MS: before the rest is asked for

function report_words(now) {
    return words_of("report", now, [...(now.by === "stack" ? ["--top", "500"] : []), "--json"]);
}

// A long table is asked for in two parts: its first rows, and then all of them, while the reader looks at the first.
function first_words(now) {
    const whole = report_words(now);
    return now.search || now.sort || whole.includes("--top") ? whole : [...whole, "--top", String(ASKED_FIRST)];
}

// For a sampled recording: half of the width of an estimate's 95 % interval.
function estimate_columns(answer) {
    if (!answer.rows.some((row) => typeof row.low_bytes === "number")) // some metrics have no interval
        return [];
    const half = (row) => row.low_bytes === null ? null : Math.trunc((row.high_bytes - row.low_bytes) / 2);
    return [{
        key: "estimate",
        title: "±",
        value: half,
        text: (row, n) => n === null ? "?" : amount(n, answer.unit),
        hint_title: "the value is an estimate: half of the width of its 95 % interval",
        hint: (row) => estimate_text(row.low_bytes, row.high_bytes, answer.unit)
    }];
}

// For a merged recording: how a row's own value is spread over the inputs.
function spread_columns(answer) {
    if (!answer.merged)
        return [];
    const cell = (key, title, hint_title) => ({key, title, hint_title, value: (row) => row[key],
        text: (row, n) => n === null ? "not kept" : amount(n, answer.unit), hint: (row) => count(row[key])});
    return [
        cell("mean_bytes", "mean", "of self, over all inputs"), cell("max_bytes", "max", "the largest self of an input"),
        {key: "max_input", title: "in", left: true, hint_title: "the input that has the largest", value: (row) => row.max_input ?? ""}
    ];
}

// Columns of self and total with their shares of the whole.
export function value_columns(answer) {
    const unit = answer.unit, whole = Math.abs(answer.sum.bytes),
          change_shown = answer.since !== "start" && answer.unit !== "ns" &&
        (answer.metric === "live" || answer.metric === "mapped");
    const text = (n) => change_shown ? signed(amount(n, unit), n) : amount(n, unit);
    const flat = answer.by === "thread";
    const bytes_column = (key, hint_title) => {
        const value = (row) => row[key + "_bytes"];
        return {key, title: key, value, text: (row, n) => text(n), share: (row) => value(row) / whole, hint_title,
            hint: (row) => count(value(row))};
    };
    const share_column = (key) => (
        {key: key + "_share", title: "%", value: (row) => row[key + "_bytes"], text: (row, n) => percent(n, whole)});
    const columns = [
        bytes_column("self", "what it asked for itself"),
        ...estimate_columns(answer),
        share_column("self"),
        {key: "count", title: count_title(answer.metric), value: (row) => row.self_count, text: (row, n) => count(n)},
        bytes_column("total", "with all that it called"),
        share_column("total"),
    ];
    return [...(flat ? columns.filter((column) => !column.key.startsWith("total")) : columns), ...spread_columns(answer)];
}

export function name_columns(by) {
    const name = {
        key: "name",
        title: by,
        left: true,
        value: (row) => row.name,
        hint: (row) => told_name(row.name || ""),
        node: (row) => by === "function" || by === "line" ? function_link(row.name)
                                                          : el("span", {class: "name"}, shorten(row.name || "", 90))
    };
    return by === "function" || by === "line" ? [name, {key: "where", title: "where", left: true, value: (row) => place_of(row),
        hint: whole_place, node: (row) => el("span", {class: "place"}, shorten(place_of(row), 44))}] : [name];
}

function stack_columns(answer) {
    const whole = Math.abs(answer.sum.bytes);
    return [
        {
            key: "self",
            title: answer.unit === "ns" ? "time" : "bytes",
            value: (row) => row.bytes,
            text: (row, n) => amount(n, answer.unit),
            share: (row) => row.bytes / whole,
            hint: (row) => count(row.bytes)
        },
        {key: "self_share", title: "%", value: (row) => row.bytes, text: (row, n) => percent(n, whole)},
        {key: "count", title: count_title(answer.metric), value: (row) => row.count, text: (row, n) => count(n)},
        {
            key: "thread",
            title: "thread",
            left: true,
            value: (row) => row.thread,
            text: (row, text) => shorten(text || "", 20)
        },
        {
            key: "name",
            title: "innermost function",
            left: true,
            value: (row) => row.stack.length ? row.stack[0].function : "",
            hint: (row) => row.stack.map((frame) => frame.function).join("\n"),
            node: (row) => row.stack.length ? function_link(row.stack[0].function) : "?"
        },
        {
            key: "where",
            title: "where",
            left: true,
            value: (row) => row.stack.length ? place_of(row.stack[0]) : "",
            hint: (row) => row.stack.length ? whole_place(row.stack[0]) : ""
        },
    ];
}

// Below an opened row: links, and its largest stacks.
async function opened_row(now, answer, row) {
    if (answer.by === "stack")
        return stack_list(row.stack);
    if (answer.by === "thread")
        return el("p", {}, button("Only this thread", () => change({thread: row.name})));
    const pattern = pattern_of(row.name), by_name = answer.by === "function" || answer.by === "line";
    const actions = by_name
        ? el("p", {class: "actions"}, button("Callers and callees", () => change({view: "callers", select: row.name})),
              button("Only through it", () => add_filter("within", pattern)),
              button("Without it", () => add_filter("ignore", pattern)),
              button("Fold it away", () => add_filter("fold", pattern)),
              button("In the flame graph",
                  () => change({view: "flame", search: row.name.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&")})))
        : null;
    if (!by_name)
        return el("p", {class: "mono"}, [row.file, row.module].filter(Boolean).join("  ") || row.name);
    const words = words_of("report", {...now, by: "function", within: [...now.within, pattern]},
        ["--by", "stack", "--top", "3", "--json"]);
    const stacks = await core.ask(words, Number(now.file)).catch(() => null);
    return [actions, el("p", {class: "mono quiet"}, whole_place(row)), stacks && stacks.rows.length
        ? [el("h3", {}, "Its largest stacks"), el("div", {class: "columns"}, stacks.rows.map((one) => el("div", {},
            el("b", {}, amount(one.bytes, stacks.unit)), ` in ${count(one.count)} · ${one.thread}`, stack_list(one.stack))))] : null];
}

// The 95 % interval of a sum that is an estimate.
export function sum_interval(answer) {
    const of = answer.intervals && answer.intervals.sum;
    return of && of.low_bytes !== null ? el("span", {class: "quiet", id: "sum-interval"}, `(${estimate_text(of.low_bytes, of.high_bytes, answer.unit)})`)
                                       : null;
}

function ignored_line(answer) {
    const parts = [];
    if (answer.ignored && answer.ignored.count)
        parts.push(`ignored: ${amount(answer.ignored.bytes, answer.unit)} (${
            answer.ignored.by.map((one) => one.name).join(", ")})`);
    if (answer.outside && answer.outside.count)
        parts.push(`outside of the filter: ${amount(answer.outside.bytes, answer.unit)}`);
    return parts.length ? el("p", {class: "quiet"}, parts.join("; ")) : null;
}

// For a merged recording: how the sum is spread over the inputs, and which of them differ.
export function spread_lines(answer, now) {
    const merged = answer.merged;
    if (!merged)
        return null;
    const outliers = now.since || now.at ? "" : outliers_text(merged, answer.unit);
    return [
        el("p", {class: "quiet", id: "spread"}, el("b", {}, "spread "), spread_text(merged.sum, merged.inputs, answer.unit)),
        outliers ? el("p", {class: "quiet", id: "outliers"}, el("b", {}, "outliers "), outliers) : null
    ];
}

async function draw_report(now) {
    const which = Number(now.file), answer = await core.ask(first_words(now), which), left_out = answer.rows_left_out;
    const columns =
        answer.by === "stack" ? stack_columns(answer) : [...value_columns(answer), ...name_columns(answer.by)];
    const all_rows = async () => (await core.ask(report_words(now), which)).rows;
    const more = left_out && now.by !== "stack" ? {count: left_out, ask: all_rows} : null;
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, `${question_text(now, answer)} by ${answer.by}`),
            el("strong", {id: "sum", "data-value": answer.sum.bytes}, amount(answer.sum.bytes, answer.unit)),
            sum_interval(answer),
            el("span", {class: "quiet"},
                `${count_text(answer.sum.count, answer.metric)}, ${counted(answer.rows.length + left_out, "row")}`),
            now.by === "function" ? matched_share(now) : null),
        spread_lines(answer, now), ignored_line(answer), data_table({
            columns,
            rows: answer.rows,
            more,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            open: (row) => opened_row(now, answer, row),
            name: "report"
        }),
        left_out && !more
            ? el("p", {class: "quiet"},
                  `${count(left_out)} smaller rows are left out; the command with --top 0 has them.`)
            : null);
    return {
        content,
        ready: () => more && setTimeout(() => content.isConnected && more.ask().catch(() => 0), PAUSE_MS),
        csv: () => core.csv(report_words(now), which)
    };
}

export const report_view = {
    id: "table",
    title: "Table",
    key: "t",
    uses: ["process", "metric", "by", "moments", "focus", "search"],
    words: report_words,
    draw: draw_report
};
