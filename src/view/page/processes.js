// processes: who started whom, with the peak of each.
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {amount, bytes, count, highest, shorten, time} from "./format.js";
import {largest_process, process_rows} from "./process_list.js";
import {csv_of} from "./save.js";
import {change, unfiltered} from "./state.js";
import {data_table} from "./table.js";
import {words_of} from "./command_words.js";

function processes_words(now, timeline) {
    return timeline && timeline.report.merged ? ["merge", "--json"] : words_of("report", unfiltered(now), ["--top", "1", "--json"]);
}

// For a merged recording: its inputs, each with its totals.
const INPUT_COLUMNS = [
    {key: "peak", title: "peak", value: (row) => row.peak_bytes, text: (row, n) => bytes(n)},
    {key: "live", title: "live", value: (row) => row.live_bytes, text: (row, n) => bytes(n)},
    {key: "allocated", title: "allocated", value: (row) => row.bytes_allocated, text: (row, n) => bytes(n)},
    {key: "calls", title: "calls", value: (row) => row.allocations, text: (row, n) => count(n)},
    {key: "ran", title: "ran", value: (row) => row.duration_ns, text: (row, n) => time(n)},
    {
        key: "end",
        title: "end",
        left: true,
        value: (row) => row.signal ? `killed by signal ${row.signal}`
            : row.exit_code === null ? "ending unknown"
                                     : `exit status ${row.exit_code}`
    },
    {key: "host", title: "host", left: true, value: (row) => row.host},
    {key: "name", title: "input", left: true, value: (row) => row.input, hint: (row) => row.file},
];

async function draw_inputs(now, timeline) {
    const words = processes_words(now, timeline), answer = await core.ask(words, Number(now.file));
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, `${count(answer.inputs.length)} recordings were merged`)),
        data_table({
            columns: INPUT_COLUMNS,
            rows: answer.inputs,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            name: "inputs"
        }));
    return {content, csv: () => core.csv(words, Number(now.file))};
}

async function draw_processes(now, timeline) {
    if (timeline && timeline.report.merged)
        return draw_inputs(now, timeline);
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
            value: (row) => row.ending
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
