// search_share: how much of the whole is in functions that match the search.
import {core} from "./core.js";
import {el, replace} from "./dom.js";
import {amount, percent} from "./format.js";
import {words_of} from "./command_words.js";

async function ask_share(now, box) {
    const which = Number(now.file), plain = {...now, by: "function"};
    const ask = (more) => core.ask(words_of("report", {...plain, ...more}, ["--top", "1", "--json"]), which);
    const [part, whole] = await Promise.all([ask({within: [...now.within, now.search]}), ask({})]);
    replace(box,
        `${now.search} matches ${amount(part.sum.bytes, whole.unit)}, ` +
            `${percent(part.sum.bytes, whole.sum.bytes)} %`);
    box.dataset.value = part.sum.bytes;
}

// Filled when the command has answered. It is the command's own --within, so nothing counts twice.
export function matched_share(now) {
    if (!now.search)
        return null;
    const box = el("output", {class: "matched", id: "matched"});
    ask_share(now, box).catch((problem) => replace(box, problem.message));
    return box;
}
