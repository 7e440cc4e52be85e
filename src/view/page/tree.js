// tree: calls from the root down, as rows that can be opened.
import {core} from "./core.js";
import {button, el, segmented} from "./dom.js";
import {amount, count, highest, percent, place_of, whole_place} from "./format.js";
import {estimate_text} from "./how_recorded.js";
import {matcher} from "./search.js";
import {matched_share} from "./search_share.js";
import {sum_interval} from "./report.js";
import {change} from "./state.js";
import {function_link} from "./stacks.js";
import {count_title, question_text, words_of} from "./command_words.js";

const MOST_ROWS = 2000;

function tree_words(now) {
    return words_of(
        "report", {...now, by: "function"}, ["--tree", ...(Number(now.min) ? ["--min", now.min] : []), "--json"]);
}

// Opens the path to the largest call: as long as one callee has more than half of its caller.
function opened_at_first(rows) {
    const open = new Set();
    let level = rows;
    while (level.length) {
        const largest = level.reduce((a, b) => Math.abs(b.total_bytes) > Math.abs(a.total_bytes) ? b : a);
        open.add(largest);
        const next = largest.children, most = highest(next.map((row) => Math.abs(row.total_bytes)));
        if (!next.length || most * 2 < Math.abs(largest.total_bytes))
            break;
        level = next;
    }
    return open;
}

// Opens all callers of what matches. Not recursive, because the tree may be deep.
function opened_for_search(rows, test) {
    const open = new Set(), stack = rows.map((row) => [row, null]), parents = new Map();
    while (stack.length) {
        const [row, parent] = stack.pop();
        parents.set(row, parent);
        if (test(row.name)) {
            for (let up = parent; up && !open.has(up); up = parents.get(up))
                open.add(up);
        }
        for (const child of row.children)
            stack.push([child, row]);
    }
    return open;
}

// The rows that are visible while some are open: [{row, depth}].
function shown_rows(rows, open) {
    const found = [], stack = rows.map((row) => ({row, depth: 0})).reverse();
    while (stack.length && found.length < MOST_ROWS) {
        const one = stack.pop();
        found.push(one);
        if (open.has(one.row)) {
            for (let i = one.row.children.length; i-- > 0;)
                stack.push({row: one.row.children[i], depth: one.depth + 1});
        }
    }
    return found;
}

class TreeTable {
    constructor(answer, now) {
        this.answer = answer;
        this.now = now;
        this.test = matcher(now.search);
        this.open = this.test ? opened_for_search(answer.rows, this.test) : opened_at_first(answer.rows);
        this.body = el("tbody");
        this.draw();
    }

    // With the interval of an estimate as a tooltip.
    cell(row, bytes, name) {
        const before = name === "total" ? "total_" : "", low = row[`${before}low_bytes`];
        const interval = low === undefined ? "" : `, ${estimate_text(low, row[`${before}high_bytes`], this.answer.unit)}`;
        const whole = Math.abs(this.answer.sum.bytes),
              cell = el("td", {class: "bar", "data-value": bytes, "data-column": name, title: count(bytes) + interval},
                  amount(bytes, this.answer.unit));
        cell.style.setProperty("--share", `${whole ? Math.min(Math.abs(bytes / whole), 1) * 100 : 0}%`);
        cell.classList.toggle("less", bytes < 0);
        return cell;
    }

    line({row, depth}) {
        const leaf = !row.children.length, opened = this.open.has(row);
        const line = el("tr", {
            tabindex: "0",
            "aria-level": depth + 1,
            "aria-expanded": leaf ? null : String(opened),
            class: this.test && this.test(row.name) ? "hit" : null
        },
            this.cell(row, row.total_bytes, "total"),
            el("td", {}, percent(row.total_bytes, Math.abs(this.answer.sum.bytes))),
            this.cell(row, row.self_bytes, "self"), el("td", {}, count(row.total_count)),
            el("td", {class: "left tree-name"},
                el("span", {class: "twig", style: `width:${Math.min(depth, 60) * 14}px`}),
                leaf ? el("span", {class: "leaf"}, "·")
                     : button(opened ? "▾" : "▸", () => this.toggle(row, line),
                           {class: "twist", tabindex: "-1", "aria-label": opened ? "close" : "open"}),
                function_link(row.name), " ", el("span", {class: "place", title: whole_place(row)}, place_of(row))));
        line.addEventListener("keydown", (event) => this.keyed(event, row, line));
        return line;
    }

    draw(focus = -1) {
        this.rows = shown_rows(this.answer.rows, this.open);
        this.body.replaceChildren(...this.rows.map((one) => this.line(one)));
        if (focus >= 0)
            this.body.children[focus]?.focus();
    }

    toggle(row, line) {
        if (this.open.has(row))
            this.open.delete(row);
        else
            this.open.add(row);
        this.draw([...this.body.children].indexOf(line));
    }

    open_all() {
        const stack = [...this.answer.rows];
        for (let n = 0; stack.length && n < MOST_ROWS; n++) {
            const row = stack.shift();
            this.open.add(row);
            stack.push(...row.children);
        }
        this.draw();
    }

    close_all() {
        this.open.clear();
        this.draw();
    }

    keyed(event, row, line) {
        const opened = this.open.has(row), at = [...this.body.children].indexOf(line);
        if (event.key === "ArrowDown" || event.key === "ArrowUp")
            this.body.children[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
        else if ((event.key === "ArrowRight" && !opened) || (event.key === "ArrowLeft" && opened) ||
            (event.key === "Enter" && event.target === line))
            this.toggle(row, line);
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}

async function draw_tree(now) {
    const answer = await core.ask(tree_words(now), Number(now.file)), tree = new TreeTable(answer, now);
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, `${question_text(now, answer)}, from the root`),
            el("strong", {id: "sum", "data-value": answer.sum.bytes}, amount(answer.sum.bytes, answer.unit)),
            sum_interval(answer),
            segmented("Smallest calls shown", [["1", "≥ 1 %"], ["0.5", "≥ 0.5 %"], ["0.05", "≥ 0.05 %"], ["0", "all"]],
                now.min, (min) => change({min})),
            button("Open all", () => tree.open_all(), {id: "open-all"}),
            button("Close all", () => tree.close_all(), {id: "close-all"}), matched_share(now)),
        el("div", {class: "scroll-x"},
            el("table", {class: "data tree"},
                el("thead", {},
                    el("tr", {},
                        ["total", "%", "self", count_title(answer.metric)].map(
                            (title) => el("th", {scope: "col"}, title)),
                        el("th", {class: "left", scope: "col"}, "function"))),
                tree.body)),
        answer.rows_left_out ? el("p", {class: "quiet"}, `${count(answer.rows_left_out)} smaller calls are left out.`)
                             : null,
        tree.rows.length >= MOST_ROWS ? el("p", {class: "quiet"}, `Only the first ${count(MOST_ROWS)} rows are shown.`)
                                      : null);
    return {content, csv: () => core.csv(tree_words(now), Number(now.file))};
}

export const tree_view = {
    id: "tree",
    title: "Tree",
    key: "r",
    uses: ["process", "metric", "moments", "focus", "search"],
    words: tree_words,
    draw: draw_tree
};
