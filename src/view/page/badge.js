// badge: how complete the recording is, in one word, and after a click in full.
import {button, el} from "./dom.js";
import {counted} from "./format.js";
import {origin_of} from "./how_recorded.js";

// What is missing according to a report's answer; [] if nothing is.
function missing_parts(report) {
    const totals = report.totals, sampling = report.sampling || {}, found = [];
    const add = (number, word, meaning) => {
        if (number)
            found.push(`${counted(number, word)} ${meaning}`);
    };
    if (!report.complete)
        found.push("the recording ends before the program did");
    add(totals.lost_events, "event", "lost: a thread allocated faster than could be recorded");
    add(totals.truncated_stacks, "stack", "cut off: too deep");
    add(totals.incomplete_stacks, "stack", "that could not be followed to their beginning");
    add(totals.unknown_frees, "free", "of blocks that were allocated before the recording began");
    add(sampling.lost_samples, "sample", "lost");
    return found;
}

// What is known about completeness, in a sentence.
function completeness(report, fine) {
    if (!fine)
        return report.imported ? "What it lost is not known." : "What this recording lacks:";
    return report.sampled ? "Of what was sampled nothing was lost and no stack was cut off."
        : report.attached ? "Since the attach nothing was lost and no stack was cut off."
                          : "Nothing was lost, no stack was cut off, every free is of a known block.";
}

// One word for all of it: the first that applies.
function badge_word(report, missing) {
    const origin = origin_of(report).map(([word]) => word);
    if (origin.includes("imported"))
        return "imported"; // another tool's file: what it lost is not known
    return missing.length ? "incomplete" : origin.includes("sampled") ? "sampled" : "complete";
}

export function badge_of(report) {
    const missing = missing_parts(report), notes = report.notes || [], word = badge_word(report, missing);
    const fine = word === "complete" || word === "sampled", mark = {complete: "✓ ", incomplete: "! "}[word] || "";
    const details = el("div", {class: "popover", hidden: true, role: "note"}, el("p", {}, completeness(report, fine)),
        missing.length ? el("ul", {}, missing.map((text) => el("li", {}, text))) : null,
        notes.length ? el("ul", {}, notes.map((text) => el("li", {}, text))) : null);
    const toggle = button([el("span", {"aria-hidden": "true"}, mark), word], () => {
        details.hidden = !details.hidden;
        toggle.setAttribute("aria-expanded", String(!details.hidden));
    }, {
        class: `badge ${word === "complete" ? "fine" : "lacking"}`,
        "aria-expanded": "false",
        id: "badge",
        title: missing.join("; ") || completeness(report, fine)
    });
    return el("span", {class: "badge-box"}, toggle, details);
}

// A line below the header, on every view: what a reader must know about how the recording was made.
export function origin_line(report) {
    return origin_of(report).map(
        ([word, text]) => el("p", {class: "origin", "data-origin": word}, el("b", {}, word), " ", text));
}
