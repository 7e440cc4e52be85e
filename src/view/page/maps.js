// maps: the process's mappings: how much address space they take, and how much of it is resident.
import {core} from "./core.js";
import {el, segmented} from "./dom.js";
import {bytes, count, shorten, signed, time} from "./format.js";
import {change} from "./state.js";
import {data_table} from "./table.js";
import {words_of} from "./command_words.js";

function maps_words(now) {
    return words_of("maps", now, [...(now.maps === "kind" ? [] : ["--by", now.maps]), "--json"]);
}

function maps_columns(answer) {
    const difference = Boolean(answer.since), whole = Math.abs(answer.totals.rss_bytes) || 1,
          size = Math.abs(answer.totals.size_bytes) || 1;
    const text = (row, n) => difference ? signed(bytes(n), n) : bytes(n);
    const value = (key, title, of) => ({
        key,
        title,
        value: (row) => row[key],
        text,
        share: of ? (row) => row[key] / of : null,
        hint: (row) => count(row[key])
    });
    const names = [{key: "kind", title: "kind", left: true, value: (row) => row.kind}];
    if (answer.by !== "kind")
        names.push({
            key: "name",
            title: answer.by,
            left: true,
            value: (row) => row.name || row.path || "",
            hint: (row) => row.name || row.path || "",
            node: (row) => el("span", {class: "name"}, shorten(row.name || row.path || "", 70))
        });
    if (difference)
        names.unshift({key: "change", title: "change", left: true, value: (row) => row.change || ""});
    return [
        value("rss_bytes", "RSS", whole), value("size_bytes", "size", size), value("pss_bytes", "PSS"),
        value("private_bytes", "private"), value("dirty_bytes", "dirty"), value("swap_bytes", "swap"),
        {key: "count", title: "mappings", value: (row) => row.count, text: (row, n) => count(n)}, ...names
    ];
}

async function draw_maps(now) {
    const answer = await core.ask(maps_words(now), Number(now.file)), at = answer.at;
    const when = `captured at ${time(at.time_ns)} (${at.capture})` +
        (answer.since ? `, since ${time(answer.since.time_ns)} (${answer.since.capture})` : "");
    const content = el("div", {},
        el("div", {class: "view-bar"}, el("h2", {}, answer.since ? "Change of mappings" : "Mappings"),
            el("strong", {id: "sum", "data-value": answer.totals.rss_bytes}, bytes(answer.totals.rss_bytes)),
            el("span", {class: "quiet"}, `resident of ${bytes(answer.totals.size_bytes)} mapped, ${when}`),
            segmented("By", [["kind", "By kind"], ["library", "By library"], ["mapping", "Each mapping"]], now.maps,
                (maps) => change({maps}))),
        data_table({
            columns: maps_columns(answer),
            rows: answer.rows,
            sort: now.sort,
            on_sort: (sort) => change({sort}, true),
            search: now.search,
            name: "maps"
        }),
        answer.tidemark ? el("p", {class: "quiet"},
                              `Of these tidemark's own: ${bytes(answer.tidemark.rss_bytes)} resident, ${
                                  bytes(answer.tidemark.size_bytes)} mapped.`)
                        : null);
    return {content, csv: () => core.csv(maps_words(now), Number(now.file))};
}

export const maps_view = {
    id: "maps",
    title: "Mappings",
    key: "m",
    uses: ["process", "moments", "search"],
    words: maps_words,
    draw: draw_maps
};
