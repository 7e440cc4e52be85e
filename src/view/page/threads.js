// threads: what each thread held over time, all on one scale.
import {Chart, picture_width} from "./chart.js";
import {core} from "./core.js";
import {button, el} from "./dom.js";
import {bytes, count, highest, percent, shorten, time} from "./format.js";
import {rows_matching} from "./search.js";
import {change} from "./state.js";
import {data_table} from "./table.js";
import {words_of} from "./command_words.js";

const FIRST_PICTURES = 24;

function threads_words(now) {
    return words_of("threads", now, ["--json"]);
}

function thread_figure(thread, answer, most, width) {
    const chart = new Chart({
        width,
        height: 92,
        x: [answer.moments_ns[0] || 0, answer.moments_ns[answer.moments_ns.length - 1] || 1],
        y: [0, most * 1.05],
        format_x: time,
        format_y: bytes,
        x_ticks: 2,
        y_ticks: 2,
        margin: {left: 58, bottom: 18, top: 6},
        label: `live bytes of ${thread.label}`
    });
    const points = answer.moments_ns.map((at, i) => [at, thread.live[i]]);
    chart.area(points, {class: "live-area"});
    chart.steps(points, {class: "live-line"});
    return el("figure", {class: "small", "data-thread": thread.label},
        el("figcaption", {},
            button(shorten(thread.label, 28), () => change({thread: thread.name}),
                {class: "link", title: `${thread.label}: only this thread`}),
            el("span", {class: "quiet"}, ` highest ${bytes(thread.highest_bytes)}`)),
        chart.svg);
}

const THREAD_COLUMNS = [
    {key: "name", title: "thread", left: true, value: (row) => row.label, hint: (row) => `tid ${row.tid}`},
    {key: "highest", title: "highest", value: (row) => row.highest_bytes, text: (row, n) => bytes(n)},
    {
        key: "at_peak",
        title: "at peak",
        value: (row) => row.at_peak_bytes,
        text: (row, n) => bytes(n),
        share: (row) => row.peak_share
    },
    {key: "share", title: "%", value: (row) => row.peak_share, text: (row, n) => percent(n, 1)},
    {key: "live", title: "live", value: (row) => row.live_bytes, text: (row, n) => bytes(n)},
    {key: "allocated", title: "allocated", value: (row) => row.allocated_bytes, text: (row, n) => bytes(n)},
    {key: "calls", title: "calls", value: (row) => row.allocations, text: (row, n) => count(n)},
    {key: "rate", title: "calls/s", value: (row) => row.allocations_per_second, text: (row, n) => count(Math.round(n))},
    {key: "others", title: "freed of others", value: (row) => row.freed_of_others_bytes, text: (row, n) => bytes(n)},
    {key: "began", title: "began", value: (row) => row.start_ns, text: (row, n) => time(n)},
];

async function draw_threads(now) {
    const answer = await core.ask(threads_words(now), Number(now.file));
    const most = highest(answer.threads.map((thread) => highest(thread.live)), 1);
    const each = picture_width(300);
    const found = rows_matching(answer.threads, THREAD_COLUMNS, now.search);
    const pictures = found.slice(0, FIRST_PICTURES).map((thread) => thread_figure(thread, answer, most, each));
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, `${count(answer.threads.length)} threads`),
            el("span", {class: "quiet"},
                `peak of the process ${bytes(answer.peak_bytes)}. A block counts for the thread that allocated it.`)),
        el("div", {class: "multiples"}, pictures),
        found.length > FIRST_PICTURES
            ? el("p", {class: "quiet"}, `The pictures are of the first ${FIRST_PICTURES}; the table has all.`)
            : null,
        data_table({
            columns: THREAD_COLUMNS,
            rows: answer.threads,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            name: "threads"
        }));
    return {
        content,
        csv: () => core.csv(threads_words(now), Number(now.file)),
        picture: pictures.length ? {element: () => content.querySelector(".multiples")} : null
    };
}

export const threads_view = {
    id: "threads",
    title: "Threads",
    key: "h",
    uses: ["process", "moments", "focus", "search"],
    words: threads_words,
    draw: draw_threads
};
