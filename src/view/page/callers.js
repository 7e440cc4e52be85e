// callers: a function between its callers and its callees; each is one click away.
import {add_filter} from "./controls.js";
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {amount, count, pattern_of, percent, place_of, whole_place} from "./format.js";
import {change} from "./state.js";
import {function_link} from "./stacks.js";
import {data_table} from "./table.js";
import {count_text, count_title, question_text, words_of} from "./command_words.js";

function callers_words(now, way = "--callers") {
    return words_of("report", {...now, by: "function"}, [way, now.select || "main", "--json"]);
}

function side(answer, title, now) {
    const whole = Math.abs(answer.of_values.total_bytes);
    const columns = [
        {
            key: "total",
            title: answer.unit === "ns" ? "time" : answer.unit,
            value: (row) => row.total_bytes,
            text: (row, n) => amount(n, answer.unit),
            share: (row) => whole ? row.total_bytes / whole : 0,
            hint: (row) => count(row.total_bytes)
        },
        {key: "share", title: "%", value: (row) => row.total_bytes, text: (row, n) => percent(n, whole)},
        {key: "count", title: count_title(answer.metric), value: (row) => row.total_count, text: (row, n) => count(n)},
        {
            key: "name",
            title: "function",
            left: true,
            value: (row) => row.name,
            hint: (row) => `${row.name}\n${whole_place(row)}`,
            node: (row) => [function_link(row.name, 60), " ", el("span", {class: "place"}, place_of(row))]
        },
    ];
    return el("section", {class: "side"}, el("h2", {}, `${title} (${count(answer.rows.length)})`),
        answer.rows.length ? data_table({columns, rows: answer.rows, search: now.search, name: title})
                           : el("p", {class: "quiet"},
                                 title === "Callers" ? "Nothing calls it: here the stacks begin."
                                                     : "It calls nothing that counts here."));
}

async function draw_callers(now) {
    const which = Number(now.file);
    const list = await core.ask(words_of("report", {...now, by: "function"}, ["--top", "500", "--json"]), which);
    if (!now.select && list.rows.length) { // the first function; the address shows it too
        change({select: list.rows[0].name}, true);
        return {content: ""};
    }
    const input = el("input", {
        id: "function",
        list: "functions",
        value: now.select,
        size: 48,
        "aria-label": "function",
        spellcheck: "false",
        autocomplete: "off",
        onchange: () => change({select: input.value})
    });
    const bar = el("div", {class: "view-bar"}, el("label", {class: "field grow"}, el("span", {}, "Function"), input),
        el("datalist", {id: "functions"}, list.rows.map((row) => el("option", {value: row.name}))));
    let callers, callees;
    try {
        [callers, callees] =
            await Promise.all([core.ask(callers_words(now), which), core.ask(callers_words(now, "--callees"), which)]);
    } catch (problem) {
        return {content: el("div", {}, bar, el("div", {class: "problem"}, problem.message))};
    }
    const of = callers.of_values, unit = callers.unit, name = callers.of, pattern = pattern_of(name);
    const card = el("section", {class: "middle"}, el("h2", {class: "name", title: name}, name),
        el("p", {class: "quiet"}, question_text(now, callers)),
        el("p", {}, el("strong", {id: "of-total", "data-value": of.total_bytes}, amount(of.total_bytes, unit)),
            ` in all, ${percent(of.total_bytes, Math.abs(callers.sum.bytes))} %`),
        el("p", {}, el("strong", {id: "of-self", "data-value": of.self_bytes}, amount(of.self_bytes, unit)),
            ` itself, ${percent(of.self_bytes, Math.abs(callers.sum.bytes))} %, ${
                count_text(of.self_count, callers.metric)}`),
        el("p", {class: "actions"}, button("Only through it", () => add_filter("within", pattern)),
            button("Without it", () => add_filter("ignore", pattern)),
            button("Fold it away", () => add_filter("fold", pattern)),
            button("Its source", () => change({view: "source", select: name}))));
    return {
        content: el("div", {}, bar,
            el("div", {class: "navigator"}, side(callers, "Callers", now), card, side(callees, "Callees", now))),
        csv: () => core.csv(callers_words(now), which)
    };
}

export const callers_view = {
    id: "callers",
    title: "Callers",
    key: "c",
    uses: ["process", "metric", "moments", "focus", "search"],
    words: (now) => callers_words(now),
    draw: draw_callers
};
