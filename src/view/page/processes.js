// processes: who started whom, with the peak of each.
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {amount, bytes, count, shorten} from "./format.js";
import {csv_of} from "./save.js";
import {change} from "./state.js";
import {data_table} from "./table.js";
import {words_of} from "./words.js";

function processes_words(now) {
    return words_of("report", {...now, metric: "", by: "function", mode: "at", at: "", within: [], ignore: [], fold: [], thread: "", language: "both",
        imports: "shown", size: "requested"}, ["--top", "1", "--json"]);
}

// Children after their parents, with their depth and the word for --process.
export function process_rows(processes) {
    const seen = new Map(), rows = processes.map((process) => {
        const number = (seen.get(process.pid) || 0) + 1;
        seen.set(process.pid, number);
        return {...process, word: number > 1 ? `${process.pid}#${number}` : String(process.pid)};
    });
    const known = new Set(rows.map((row) => row.pid)), children = new Map(), found = [];
    for (const row of rows) {
        const parent = known.has(row.ppid) && row.ppid !== row.pid ? row.ppid : null;
        children.set(parent, [...(children.get(parent) || []), row]);
    }
    const stack = (children.get(null) || []).map((row) => [row, 0]).reverse(), told = new Set();
    while (stack.length) {
        const [row, depth] = stack.pop();
        found.push({...row, depth});
        if (told.has(row.pid))
            continue;
        told.add(row.pid);
        for (const child of (children.get(row.pid) || []).slice().reverse())
            stack.push([child, depth + 1]);
    }
    return found.length === rows.length ? found : rows.map((row) => ({...row, depth: 0}));
}

async function draw_processes(now) {
    const answer = await core.ask(processes_words({...now, process: ""}), Number(now.file)), rows = process_rows(answer.processes);
    const most = Math.max(1, ...rows.map((row) => row.peak_bytes || 0));
    const columns = [
        {key: "peak", title: "peak", value: (row) => row.peak_bytes, text: (row, n) => bytes(n), share: (row) => (row.peak_bytes || 0) / most},
        {key: "cpu", title: "CPU", value: (row) => row.cpu_ns, text: (row, n) => n === undefined ? "" : amount(n, "ns")},
        {key: "pid", title: "pid", value: (row) => row.pid, text: (row, n) => String(n)},
        {key: "end", title: "end", left: true, value: (row) => row.signal ? `signal ${row.signal}` : row.exit_code === null ? "exec" : `exit ${row.exit_code}`},
        {key: "name", title: "command", left: true, value: (row) => row.command.join(" "), hint: (row) => row.command.join(" "),
            node: (row) => [el("span", {class: "twig", style: `width:${Math.min(row.depth, 20) * 16}px`}),
                button(shorten(row.command.join(" "), 90), () => change({process: row.word, view: "summary"}), {class: "link name", title: "show this process"})]},
    ];
    const content = el("div", {}, el("div", {class: "view-bar"}, el("h2", {}, `${count(rows.length)} processes`),
        el("span", {class: "quiet"}, `on screen: ${now.process || answer.pid}`), now.process ? button("The largest", () => change({process: ""})) : null),
    data_table({columns, rows, sort: now.sort, on_sort: (sort) => change({sort}, true), search: now.search, row_class: (row) => row.word === (now.process || String(answer.pid)) ? "chosen" : null, name: "processes"}));
    const titles = ["pid", "ppid", "peak_bytes", "cpu_ns", "exit_code", "signal"];
    return {content, csv: async () => csv_of([[...titles, "command"], ...rows.map((row) => [...titles.map((title) => row[title]), row.command.join(" ")])])};
}

export const processes_view = {id: "processes", title: "Processes", key: "p", uses: ["search"], words: processes_words, draw: draw_processes};
