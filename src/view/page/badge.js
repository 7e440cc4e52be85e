// badge: how complete the recording is, in one word, and on a click in all words.
import {button, el} from "./dom.js";
import {counted} from "./format.js";

// What is missing from a report's answer: [] where nothing is.
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

export function badge_of(report) {
    const missing = missing_parts(report), notes = report.notes || [], imported = report.imported;
    const fine = !missing.length && !imported;
    if (imported) // another tool's file: what it lost is not known
        missing.push(...imported.not_known.map((what) => `not known: ${what}`));
    const details = el("div", {class: "popover", hidden: true, role: "note"},
        el("p", {},
            fine ? "Nothing was lost, no stack was cut off, every free is of a known block."
                 : imported ? `Imported from ${imported.from} (${imported.file}).`
                            : "What this recording lacks:"),
        missing.length ? el("ul", {}, missing.map((text) => el("li", {}, text))) : null,
        notes.length ? el("ul", {}, notes.map((text) => el("li", {}, text))) : null);
    const toggle =
        button([el("span", {"aria-hidden": "true"}, fine ? "✓ " : imported ? "" : "! "),
            fine ? "complete" : imported ? "imported" : "incomplete"], () => {
            details.hidden = !details.hidden;
            toggle.setAttribute("aria-expanded", String(!details.hidden));
        }, {
            class: `badge ${fine ? "fine" : "lacking"}`,
            "aria-expanded": "false",
            id: "badge",
            title: missing.join("; ") || "nothing lost, no stack cut off, no unknown frees"
        });
    return el("span", {class: "badge-box"}, toggle, details);
}
