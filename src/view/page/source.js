// source: the lines of a function with their values of the metric, if sources are in the page.
import {core} from "./core.js";
import {el} from "./dom.js";
import {amount, base_name, count, percent} from "./format.js";
import {change} from "./state.js";
import {words_of} from "./command_words.js";

function source_words(now) {
    return words_of("report", now, ["--by", "line", "--json"]);
}

// The values of a file's lines: {line: {self, total}}. A recursive function has one row per line.
function lines_of(rows, file) {
    const lines = new Map();
    for (const row of rows) {
        if (row.file !== file || !row.line)
            continue;
        const one = lines.get(row.line) || {self: 0, total: 0, count: 0};
        lines.set(row.line, {
            self: one.self + row.self_bytes,
            total: Math.max(one.total, row.total_bytes),
            count: one.count + row.self_count
        });
    }
    return lines;
}

function value_cell(n, whole, unit, column) {
    const cell =
        el("td", {class: n ? "bar" : "", "data-value": n || null, "data-column": column}, n ? amount(n, unit) : "");
    cell.style.setProperty("--share", `${whole ? Math.min(Math.abs(n / whole), 1) * 100 : 0}%`);
    return cell;
}

function listing(text, lines, answer) {
    const whole = Math.abs(answer.sum.bytes), body = el("tbody");
    let last = 0;
    for (const [number, code] of text) {
        if (last && number > last + 1)
            body.append(el("tr", {class: "gap"}, el("td", {colspan: 5}, "⋯")));
        last = number;
        const one = lines.get(number) || {self: 0, total: 0};
        body.append(el("tr", {class: one.total ? "hot" : null, id: `line-${number}`},
            value_cell(one.self, whole, answer.unit, "self"), value_cell(one.total, whole, answer.unit, "total"),
            el("td", {}, one.total ? percent(one.total, whole) : ""), el("td", {class: "quiet"}, String(number)),
            el("td", {class: "left code"}, code)));
    }
    return el("table", {class: "data source"},
        el("thead", {},
            el("tr", {}, ["self", "total", "%", "line"].map((title) => el("th", {scope: "col"}, title)),
                el("th", {class: "left", scope: "col"}, "source"))),
        body);
}

async function draw_source(now) {
    const answer = await core.ask(source_words(now), Number(now.file));
    const rows = answer.rows.filter((row) => row.file && row.line),
          files = [...new Set(rows.map((row) => row.file))].filter((file) => core.source(file));
    if (!files.length)
        return {
            content: el("div", {class: "empty"},
                el("p", {},
                    "No source is in this page: sources may be secret, so they are put in only when asked for."),
                el("p", {}, el("code", {}, `tidemark view ${core.files.join(" ")} --with-source`)))
        };
    const chosen = rows.find((row) => row.name === now.select && files.includes(row.file)),
          file = chosen              ? chosen.file
        : files.includes(now.select) ? now.select
                                     : files[0];
    const shares =
        files.map((one) => [one, rows.filter((row) => row.file === one).reduce((sum, row) => sum + row.self_bytes, 0)])
            .sort((a, b) => b[1] - a[1]);
    const select =
        el("select", {id: "source-file", "aria-label": "file", onchange: () => change({select: select.value})},
            shares.map(([one, bytes]) => el("option", {value: one, selected: one === file},
                           `${base_name(one)} · ${amount(bytes, answer.unit)}`)));
    const lines = lines_of(answer.rows, file),
          content = el("div", {},
              el("div", {class: "view-bar"}, el("label", {class: "field"}, el("span", {}, "File"), select),
                  el("span", {class: "place"}, file),
                  el("span", {class: "quiet"}, `${count(lines.size)} lines have something`)),
              el("div", {class: "scroll-x"}, listing(core.source(file), lines, answer)));
    return {
        content,
        ready: () => {
            const line =
                chosen ? chosen.line : [...lines].sort((a, b) => b[1].self - a[1].self).map(([number]) => number)[0];
            content.querySelector(`#line-${line}`)?.scrollIntoView({block: "nearest"});
        },
        csv: () => core.csv(source_words(now), Number(now.file))
    };
}

export const source_view = {
    id: "source",
    title: "Source",
    key: "o",
    uses: ["process", "metric", "moments", "focus"],
    words: source_words,
    draw: draw_source
};
