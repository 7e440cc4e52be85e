// metric_limits: the results of `tidemark view --limit`, above everything else.
import {core} from "./core.js";
import {el} from "./dom.js";
import {amount} from "./format.js";

function limit_text(limit) {
    const text = (n) => amount(n, limit.unit);
    const found = core.files.length > 1 ? `${text(limit.before)} → ${text(limit.after)}` : text(limit.after);
    return ` (${found}; ${text(limit.allowed)} allowed)`;
}

export function limits_of() {
    if (!core.limits.length)
        return null;
    return el("section", {class: "limits"}, el("h2", {}, "Limits"),
        el("ul", {},
            core.limits.map((limit) => el("li", {class: limit.broken ? "broken" : "kept"},
                                el("b", {}, limit.broken ? "broken " : "kept "), limit.limit, limit_text(limit)))));
}
