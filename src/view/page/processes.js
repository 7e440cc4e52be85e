// processes: who started whom, with the peak of each.
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {amount, bytes, count, highest, shorten} from "./format.js";
import {largest_process, process_rows} from "./process_list.js";
import {csv_of} from "./save.js";
import {change, unfiltered} from "./state.js";
import {data_table} from "./table.js";
import {words_of} from "./words.js";

function processes_words(now) {
    return words_of("report", unfiltered(now), ["--top", "1", "--json"]);
}

async function draw_processes(now) {
    const answer = await core.ask(processes_words({...now, process: ""}), Number(now.file)),
          rows = process_rows(answer.processes);
    const most = highest(rows.map((row) => row.peak_bytes || 0), 1), largest = largest_process(rows, answer.pid);
    const chosen = now.process || (largest ? largest.word : "");
    const columns = [
        {
            key: "peak",
            title: "peak",
            value: (row) => row.peak_bytes,
            text: (row, n) => bytes(n),
            share: (row) => (row.peak_bytes || 0) / most
        },
        {
            key: "cpu",
            title: "CPU",
            value: (row) => row.cpu_ns,
            text: (row, n) => n === undefined || n === null ? "" : amount(n, "ns")
        },
        {key: "pid", title: "pid", value: (row) => row.pid, text: (row) => row.word},
        {
            key: "end",
            title: "end",
            left: true,
            value: (row) => row.signal ? `signal ${row.signal}`
                : row.exit_code === null && answer.imported ? "not known"
                : row.exit_code === null ? "exec"
                                         : `exit ${row.exit_code}`
        },
        {
            key: "name",
            title: "command",
            left: true,
            value: (row) => row.command.join(" "),
            hint: (row) => row.command.join(" "),
            node: (row) => [el("span", {class: "twig", style: `width:${Math.min(row.depth, 20) * 16}px`}),
                button(shorten(row.command.join(" "), 90), () => change({process: row.word, view: "summary"}),
                    {class: "link name", title: "show this process"})]
        },
    ];
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, `${count(rows.length)} processes`),
            el("span", {class: "quiet"}, `on screen: ${chosen}`),
            now.process ? button("The largest", () => change({process: ""})) : null),
        data_table({
            columns,
            rows,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            row_class: (row) => row.word === chosen ? "chosen" : null,
            name: "processes"
        }));
    const titles = ["pid", "ppid", "peak_bytes", "cpu_ns", "exit_code", "signal"];
    return {
        content,
        csv: async () => csv_of([
            [...titles, "command"], ...rows.map((row) => [...titles.map((title) => row[title]), row.command.join(" ")])
        ])
    };
}

export const processes_view = {
    id: "processes",
    title: "Processes",
    key: "p",
    uses: ["search"],
    words: processes_words,
    draw: draw_processes
};
