// growth: does it grow from mark to mark, by how much, by what and by whom.
import {Chart, picture_width} from "./chart.js";
import {core} from "./core.js";
import {el} from "./dom.js";
import {growth_line_points} from "./growth_line.js";
import {bytes, count, highest, lowest, signed, time} from "./format.js";
import {function_link, stack_list, WHERE_COLUMN} from "./stacks.js";
import {data_table} from "./table.js";
import {words_of} from "./command_words.js";

function growth_words(now) {
    return words_of("growth", now, ["--json"]);
}

function rate(value, unit) {
    const whole = Math.round(value);
    return `${signed(bytes(Math.abs(value) < 1024 ? whole : value), value)} per ${unit}`;
}

// Over the numbers of the marks; without marks over seconds, because then the rates are per second.
function series_chart(name, title, marks, slope, width, per_mark) {
    const points = marks.map((mark, i) => [per_mark ? i + 1 : mark.time_ns / 1e9, mark[`${name}_bytes`]]);
    const values = points.map(([, value]) => value), top = highest(values), low = lowest(values);
    const room = (top - low) * 0.12 || top * 0.05 || 1;
    const chart = new Chart({
        width,
        height: 190,
        x: [points[0][0], points[points.length - 1][0]],
        y: [Math.max(low - room, 0), top + room],
        format_y: bytes,
        format_x: per_mark ? count : (at) => time(at * 1e9),
        x_ticks: 4,
        y_ticks: 4,
        label: `${title} at the marks`
    });
    chart.line(points, {class: `${name}-line`});
    if (slope && slope.model === "ramp")
        chart.line(growth_line_points(points, slope.skipped || 0, slope.bytes_per_mark), {class: "fit-line"});
    return chart.svg;
}

function slope_text(slope, unit) {
    if (!slope)
        return "";
    return `${rate(slope.bytes_per_mark, unit)} (95 % interval ${bytes(Math.round(slope.low))} to ${
               bytes(Math.round(slope.high))}); ${slope.model}` +
        (slope.skipped ? `, ${count(slope.skipped)} points of warm-up not counted` : "");
}

function account_table(account, unit) {
    const names =
        Object.keys(account).filter((name) => !["rss", "error"].includes(name) && Math.abs(account[name]) >= 0.5);
    if (!names.length)
        return null;
    const most = highest(names.map((name) => Math.abs(account[name])), 1);
    const columns = [
        {key: "name", title: "RSS grows by", left: true, value: (row) => row.name},
        {
            key: "bytes",
            title: `per ${unit}`,
            value: (row) => row.bytes,
            text: (row, n) => signed(bytes(Math.round(n)), n),
            share: (row) => row.bytes / most
        },
    ];
    return el("section", {},
        el("h2", {},
            `What the growth of RSS is made of: ${rate(account.rss, unit)}, ± ${bytes(Math.round(account.error))}`),
        data_table({columns, rows: names.map((name) => ({name, bytes: account[name]})), name: "account"}));
}

function sites_table(sites, unit) {
    const most = highest(sites.map((site) => Math.abs(site.bytes_per_mark)), 1);
    const columns = [
        {
            key: "rate",
            title: `per ${unit}`,
            value: (row) => row.bytes_per_mark,
            text: (row, n) => signed(bytes(Math.round(n)), n),
            share: (row) => row.bytes_per_mark / most
        },
        {key: "bytes", title: "gained", value: (row) => row.bytes, text: (row, n) => bytes(n)},
        {key: "count", title: "blocks", value: (row) => row.count, text: (row, n) => count(n)},
        {key: "lost", title: "lost", value: (row) => row.lost_bytes, text: (row, n) => bytes(n)},
        {key: "model", title: "shape", left: true, value: (row) => row.model},
        {key: "began", title: "began", left: true, value: (row) => row.began || "from the first"},
        {
            key: "name",
            title: "function",
            left: true,
            value: (row) => row.function,
            hint: (row) => row.function,
            node: (row) => function_link(row.function)
        },
        WHERE_COLUMN,
    ];
    return data_table({columns, rows: sites, open: (row) => stack_list(row.stack), name: "sites"});
}

function chains_table(chains) {
    const columns = [
        {key: "final", title: "final size", value: (row) => row.final_bytes, text: (row, n) => bytes(n)},
        {key: "copied", title: "copied", value: (row) => row.copied_bytes, text: (row, n) => bytes(n)},
        {key: "length", title: "steps", value: (row) => row.length, text: (row, n) => count(n)},
        {
            key: "name",
            title: "function",
            left: true,
            value: (row) => row.stack.length ? row.stack[0].function : "",
            node: (row) => row.stack.length ? function_link(row.stack[0].function) : "?"
        },
        {key: "advice", title: "advice", left: true, value: (row) => row.advice},
    ];
    return el("section", {}, el("h2", {}, "Arrays that grow by copying"),
        data_table({columns, rows: chains, open: (row) => stack_list(row.stack), name: "chains"}));
}

async function draw_growth(now) {
    const which = Number(now.file), answer = await core.ask(growth_words(now), which);
    const label = answer.mark, unit = answer.unit === "mark" ? label || "mark" : answer.unit;
    const stamps =
        await core.ask(words_of("marks", now, [...(label ? ["--label", label] : ["--stamps"]), "--json"]), which)
            .catch(() => ({marks: []}));
    const marks = stamps.marks, each = picture_width(340);
    const series = marks.length > 1
        ? [["live", "live heap"], ["rss", "RSS"], ["vm", "VM"]].map(
              ([name, title]) => el("figure", {class: "small"},
                  el("figcaption", {}, el("b", {}, title), " ",
                      el("span", {class: "quiet"}, slope_text(answer.slopes[name], unit))),
                  series_chart(name, title, marks, answer.slopes[name], each, answer.unit === "mark")))
        : [];
    const content = el("div", {class: "growth"}, el("section", {class: `verdict ${answer.verdict}`}, el("span", {class: "tag", id: "verdict"}, answer.verdict), el("p", {}, answer.answer)),
        el("div", {class: "multiples"}, series),
        answer.sites && answer.sites.length ? [el("h2", {}, "Who grows"), sites_table(answer.sites, unit)] : null,
        answer.account ? account_table(answer.account, unit) : null,
        answer.chains && answer.chains.length ? chains_table(answer.chains) : null,
        answer.evidence && answer.evidence.length ? [el("h2", {}, "Evidence"), el("ul", {class: "evidence"}, answer.evidence.map((text) => el("li", {}, text)))] : null,
        el("p", {class: "quiet"}, `${count(answer.n)} × ${unit}${answer.skipped ? `, ${count(answer.skipped)} of them warm-up` : ""}` +
            `${answer.gained_bytes ? `; gained ${bytes(answer.gained_bytes)}` : ""}`));
    return {
        content,
        csv: () => core.csv(growth_words(now), which),
        picture: series.length ? {element: () => content.querySelector(".multiples")} : null
    };
}

export const growth_view = {
    id: "growth",
    title: "Growth",
    key: "g",
    uses: ["process", "focus"],
    words: growth_words,
    draw: draw_growth
};
