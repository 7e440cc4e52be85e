// table: rows of an answer in columns that can be sorted, searched and opened.
//
//     data_table({columns, rows, sort: "-total", on_sort, search, open: (row) => element or promise})
//
// A column is {key, title, value(row), text(row, value)?, hint(row)?, left?, share?(row), node?(row)}: value sorts,
// text is shown, hint is the tooltip, share (0 to 1) draws a bar behind the number. Long tables show
// their first rows; a button shows more. `more` is {count, ask()} where these are not all rows: how many there are
// besides, and a promise of all of them, in the same order.
import {button, el, replace} from "./dom.js";
import {count} from "./format.js";
import {rows_matching} from "./search.js";

const FIRST_ROWS = 100, MORE_ROWS = 400;

export function sorted_rows(rows, columns, sort) {
    const column = columns.find((one) => one.key === sort.replace(/^-/, ""));
    if (!column)
        return rows;
    const way = sort.startsWith("-") ? -1 : 1;
    return rows.map((row, i) => [column.value(row), i, row])
        .sort(([a, i], [b, j]) => {
            if (a === b)
                return i - j;
            if (a === null || a === undefined || b === null || b === undefined)
                return a === null || a === undefined ? 1 : -1;
            return typeof a === "string" ? way * a.localeCompare(b) || i - j : way * (a - b) || i - j;
        })
        .map(([, , row]) => row);
}

function header_cell(column, sort, on_sort) {
    const mine = sort.replace(/^-/, "") === column.key, down = sort.startsWith("-");
    const next = mine ? (down ? column.key : "-" + column.key) : (column.left ? "" : "-") + column.key;
    return el("th", {
        class: column.left ? "left" : "",
        scope: "col",
        title: column.hint_title,
        "aria-sort": mine ? (down ? "descending" : "ascending") : null
    },
        on_sort
            ? button(
                  [column.title, el("span", {class: "order", "aria-hidden": "true"}, mine ? (down ? "▾" : "▴") : "")],
                  () => on_sort(next), {class: "sorter", "data-column": column.key})
            : column.title);
}

function body_cell(column, row) {
    const value = column.value(row), share = column.share ? column.share(row) : 0;
    const text = column.node ? column.node(row) : column.text ? column.text(row, value) : value ?? "";
    const cell = el("td", {
        class: column.left ? "left" : "",
        title: column.hint ? column.hint(row) : null,
        "data-column": column.key,
        "data-value": typeof value === "number" ? value : null
    },
        text);
    if (column.share && share) {
        cell.classList.add("bar");
        cell.style.setProperty("--share", `${Math.min(Math.abs(share), 1) * 100}%`);
        cell.classList.toggle("less", share < 0);
    }
    return cell;
}

// Opens and closes the details of a row, below it.
function toggle_row(line, row, open, columns) {
    const opened = line.getAttribute("aria-expanded") === "true";
    line.setAttribute("aria-expanded", String(!opened));
    if (opened) {
        line.nextElementSibling.remove();
        return;
    }
    const cell = el("td", {colspan: columns.length}, el("p", {class: "quiet"}, "…"));
    line.after(el("tr", {class: "opened"}, cell));
    Promise.resolve(open(row)).then(
        (content) => replace(cell, content), (problem) => replace(cell, el("p", {class: "problem"}, problem.message)));
}

function body_row(columns, row, {open, row_class}) {
    const line = el("tr",
        {class: row_class ? row_class(row) : null, tabindex: open ? "0" : null, "aria-expanded": open ? "false" : null},
        columns.map((column) => body_cell(column, row)));
    if (open) {
        line.addEventListener("click", (event) => {
            if (!event.target.closest("button, a, input"))
                toggle_row(line, row, open, columns);
        });
        line.addEventListener("keydown", (event) => {
            if (event.target === line && (event.key === "Enter" || event.key === " ")) {
                event.preventDefault();
                toggle_row(line, row, open, columns);
            }
        });
    }
    return line;
}

export function data_table({
    columns,
    rows,
    more = null,
    sort = "",
    on_sort = null,
    search = "",
    open = null,
    row_class = null,
    caption = "",
    foot = null,
    name = "table"
}) {
    let found = sorted_rows(rows_matching(rows, columns, search), columns, sort);
    let besides = more ? more.count : 0, shown = 0;
    const body = el("tbody"), foot_line = el("p", {class: "more"});
    const show = async (number) => {
        if (besides && shown + number > found.length) {
            try {
                found = await more.ask();
                besides = 0;
            } catch (problem) {
                replace(foot_line, problem.message);
                return;
            }
        }
        const next = found.slice(shown, shown + number);
        body.append(...next.map((row) => body_row(columns, row, {open, row_class})));
        shown += next.length;
        const all = found.length + besides, left = all - shown;
        replace(foot_line, left ? [`${count(shown)} of ${count(all)} rows. `,
            button(`Show ${count(Math.min(left, MORE_ROWS))} more`, () => show(MORE_ROWS))] : "");
    };
    show(FIRST_ROWS);
    const table = el("table", {class: "data", "data-name": name}, caption ? el("caption", {}, caption) : null,
        el("thead", {}, el("tr", {}, columns.map((column) => header_cell(column, sort, on_sort)))), body,
        foot ? el("tfoot", {}, foot) : null);
    table.addEventListener("keydown", (event) => {
        const step = {ArrowDown: 1, ArrowUp: -1}[event.key], line = event.target.closest("tbody tr");
        if (!step || !line || event.target !== line)
            return;
        const lines = [...body.querySelectorAll("tr[tabindex]")];
        lines[lines.indexOf(line) + step]?.focus();
        event.preventDefault();
    });
    return el("div", {class: "table-box"}, el("div", {class: "scroll-x"}, table), foot_line,
        found.length ? null : el("p", {class: "quiet"}, search ? `No row matches ${search}.` : "There is nothing here."));
}
