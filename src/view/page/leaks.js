// leaks: what was never freed, and whether anything still points to it.
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {bytes, count, counted, percent, place_of, time, whole_place} from "./format.js";
import {change} from "./state.js";
import {function_link, stack_list} from "./stacks.js";
import {data_table} from "./table.js";
import {words_of} from "./command_words.js";

const MOST_LEAKS = "500";
const KINDS = {
    lost: "nothing points there any more",
    indirect: "only lost blocks point there",
    reachable: "something still points there",
    unclassified: "not searched for pointers to them",
};

function leaks_words(now) {
    return words_of("leaks", now, [...(now.kinds ? ["--kind", now.kinds] : []), "--top", MOST_LEAKS, "--json"]);
}

// A bar of what is left at the end, by kind; each part is also a filter.
function kinds_bar(totals, now) {
    const whole = totals.bytes + (totals.ignored_bytes || 0);
    const kinds = Object.keys(KINDS).filter((kind) => totals[`${kind}_bytes`]);
    return el("div", {class: "kinds"}, kinds.map((kind) => {
        const chosen = now.kinds === kind, part = totals[`${kind}_bytes`];
        return button(
            [
                el("b", {}, kind), el("strong", {"data-value": part}, bytes(part)),
                el("span", {class: "quiet"}, `${counted(totals[`${kind}_blocks`], "block")}: ${KINDS[kind]}`),
                el("i", {class: `meter ${kind}`, style: `width:${percent(part, whole)}%`})
            ],
            () => change({kinds: chosen ? "" : kind}), {
                class: `kind tile ${kind}`,
                "aria-pressed": String(chosen),
                "data-kind": kind,
                title: chosen ? "show all kinds" : `only ${kind}`
            });
    }),
        totals.ignored_bytes
            ? el("div", {class: "tile"}, el("b", {}, "ignored"), el("strong", {}, bytes(totals.ignored_bytes)),
                  el("span", {class: "quiet"}, `${counted(totals.ignored_blocks, "block")}: presets and filters`))
            : null);
}

function leak_columns(whole) {
    return [
        {
            key: "bytes",
            title: "bytes",
            value: (row) => row.bytes,
            text: (row, n) => bytes(n),
            share: (row) => row.bytes / whole,
            hint: (row) => count(row.bytes)
        },
        {key: "share", title: "%", value: (row) => row.bytes, text: (row, n) => percent(n, whole)},
        {key: "count", title: "blocks", value: (row) => row.count, text: (row, n) => count(n)},
        {
            key: "kind",
            title: "kind",
            left: true,
            value: (row) => row.kind,
            node: (row) => el("span", {class: `tag ${row.kind}`}, row.kind)
        },
        {
            key: "first",
            title: "first",
            value: (row) => row.first_ns,
            text: (row, n) => time(n),
            hint_title: "when its first block was allocated"
        },
        {
            key: "last",
            title: "last",
            value: (row) => row.last_ns,
            text: (row, n) => time(n),
            hint_title: "when its last block was allocated"
        },
        {key: "thread", title: "thread", left: true, value: (row) => row.thread},
        {
            key: "name",
            title: "function",
            left: true,
            value: (row) => row.stack.length ? row.stack[0].function : "",
            hint: (row) => row.stack.length ? row.stack[0].function : "",
            node: (row) => row.stack.length ? function_link(row.stack[0].function) : "?"
        },
        {
            key: "where",
            title: "where",
            left: true,
            value: (row) => row.stack.length ? place_of(row.stack[0]) : "",
            hint: (row) => row.stack.length ? whole_place(row.stack[0]) : "",
            node: (row) => el("span", {class: "place"}, row.stack.length ? place_of(row.stack[0]) : "")
        },
    ];
}

async function draw_leaks(now) {
    const answer = await core.ask(leaks_words(now), Number(now.file)), totals = answer.totals;
    const all = now.kinds ? await core.ask(leaks_words({...now, kinds: ""}), Number(now.file)) : answer;
    const looked = answer.unclassified_because
        ? `not classified: ${answer.unclassified_because}`
        : `scanned at ${time(answer.at_ns)}; the program was stopped for ${time(answer.held_ns)}`;
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, "Never freed"),
            el("strong", {id: "sum", "data-value": totals.bytes}, bytes(totals.bytes)),
            el("span", {class: "quiet"},
                `${counted(totals.blocks, "block")} from ${counted(totals.unique, "stack")}; ${looked}`)),
        kinds_bar(all.totals, now),
        answer.others && answer.others.lost_bytes
            ? el("p", {class: "quiet"},
                  `${counted(answer.others.processes, "other process")} lost ${bytes(answer.others.lost_bytes)} in ${
                      counted(answer.others.lost_blocks, "block")}.`)
            : null,
        answer.leaks.length ? data_table({
            columns: leak_columns(totals.bytes),
            rows: answer.leaks,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            open: (row) => [el("p", {class: "quiet"},
                                `${KINDS[row.kind]}; usable ${bytes(row.usable_bytes)}` +
                                    (row.untouched_bytes ? `, never touched ${bytes(row.untouched_bytes)}` : "")),
                stack_list(row.stack)],
            name: "leaks"
        })
                            : el("p", {class: "quiet"}, "Nothing is left of what was allocated here."),
        answer.leaks_left_out
            ? el("p", {class: "quiet"},
                  `${count(answer.leaks_left_out)} smaller entries are left out; the command with --top 0 has them.`)
            : null);
    return {content, csv: () => core.csv(leaks_words(now), Number(now.file))};
}

export const leaks_view = {
    id: "leaks",
    title: "Leaks",
    key: "l",
    uses: ["process", "moments", "focus", "search"],
    words: leaks_words,
    draw: draw_leaks
};
