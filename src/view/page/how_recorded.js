// how_recorded: how a recording was made, where that limits what its numbers say: sampled, attached, merged, imported.
//
//     origin_of(report)              [[word, sentence], ...], the words of the command line's summary
//     estimate_text(low, high, unit) "1.0 MiB to 1.4 MiB", or that the interval is not known
import {amount, bytes, count, counted, time} from "./format.js";

function older_text(reach) {
    if (!reach)
        return "their types and whether something points to them are not known";
    const left = counted(reach.blocks, "block");
    return (reach.lost_blocks
        ? `in the end nothing pointed to ${count(reach.lost_blocks)} of the ${left} that were left (${bytes(reach.lost_bytes)})`
        : `in the end something pointed to each of the ${left} that were left`) + "; their types are not known";
}

function attached_text(attached) {
    const before = attached.before_known
        ? `${bytes(attached.before_bytes)} in ${counted(attached.before_blocks, "block")} were in use before the attach`
        : attached.before_unknown;
    return `${before}; ${counted(attached.before_frees, "free")} of such blocks since; ${
        older_text(attached.before_reachability)}; not in these figures`;
}

function merged_text(merged, duration_ns) {
    const parts = [`${counted(merged.inputs, merged.ranks ? "rank" : "recording")} on ${
        counted(merged.hosts, "host")}; the longest ran for ${time(duration_ns)}`];
    if (merged.killed)
        parts.push(`${counted(merged.killed, "input")} killed by a signal`);
    if (merged.failed)
        parts.push(`${counted(merged.failed, "input")} failed`);
    if (merged.incomplete)
        parts.push(`${counted(merged.incomplete, "input")} incomplete`);
    return parts.join("; ");
}

function imported_text(imported) {
    const unknown = imported.not_known.length ? `; not known: ${imported.not_known.join(", ")}` : "";
    return `from ${imported.from} (${imported.file})${unknown}`;
}

export function origin_of(report) {
    const found = [];
    if (report.imported)
        found.push(["imported", imported_text(report.imported)]);
    if (report.merged)
        found.push(["merged", merged_text(report.merged, report.duration_ns)]);
    if (report.sampled)
        found.push(["sampled", `one allocation per ${bytes(report.sampled.bytes)}; figures are estimates`]);
    if (report.attached)
        found.push(["attached", attached_text(report.attached)]);
    return found;
}

// The 95 % interval of an estimate.
export function estimate_text(low, high, unit = "bytes") {
    return low === null || low === undefined ? "interval not known" : `${amount(low, unit)} to ${amount(high, unit)}`;
}

// How a value is spread over the inputs of a merged recording; null: not kept for this question.
export function spread_text(spread, inputs, unit) {
    if (!spread)
        return "how it is spread over the inputs is not kept for this question";
    if (spread.min_bytes === spread.max_bytes)
        return `${amount(spread.max_bytes, unit)} in each of ${counted(inputs, "input")}`;
    return `${amount(spread.min_bytes, unit)} to ${amount(spread.max_bytes, unit)} (${spread.max_input}), mean ${
        amount(spread.mean_bytes, unit)} over ${counted(inputs, "input")}`;
}

// The inputs that differ most from the others; "": none does.
export function outliers_text(merged, unit, most = 3) {
    const all = merged.outliers;
    if (!all.length)
        return "";
    const named = all.slice(0, most).map((one) => `${one.input}: ${amount(one.bytes, unit)}`);
    if (all.length > most)
        named.push(`${all.length - most} more`);
    return `${named.join("; ")}; half of all have at most ${amount(merged.median_bytes, unit)}`;
}
