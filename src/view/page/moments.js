// moments: converts a point of the timeline to the words of --at and --since, and back.

// The moments that have a name, in order of time: [{word, time_ns, kind}]. Marks of one label are numbered from 1, as
// on the command line.
export function named_moments(duration_ns, peak_ns, marks, peaks) {
    const moments = [{word: "start", time_ns: 0, kind: "end"}, {word: "end", time_ns: duration_ns, kind: "end"}];
    if (peak_ns !== null && peak_ns !== undefined)
        moments.push({word: "peak", time_ns: peak_ns, kind: "peak"});
    for (const mark of marks) {
        if (mark.label)
            moments.push({word: `${mark.label}#${mark.index}`, time_ns: mark.time_ns, kind: "mark"});
    }
    for (const peak of peaks)
        moments.push({word: seconds_word(peak.time_ns), time_ns: peak.time_ns, kind: "peak", number: peak.number});
    return moments.sort((a, b) => a.time_ns - b.time_ns);
}

function seconds_word(time_ns) {
    return `${(time_ns / 1e9).toFixed(9).replace(/0+$/, "").replace(/\.$/, "")}s`;
}

// The word for a time: that of the nearest named moment within reach, otherwise seconds with as many digits as a pixel
// can show. Peaks come before marks, marks before the ends of the run.
export function word_at(time_ns, moments, reach_ns) {
    const rank = {peak: 0, mark: 1, end: 2};
    let best = null;
    for (const moment of moments) {
        const distance = Math.abs(moment.time_ns - time_ns);
        if (distance <= reach_ns &&
            (!best || distance < Math.abs(best.time_ns - time_ns) ||
                (distance === Math.abs(best.time_ns - time_ns) && rank[moment.kind] < rank[best.kind])))
            best = moment;
    }
    if (best)
        return best.word;
    const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(Math.max(reach_ns, 1) / 1e9)) + 1));
    return `${(time_ns / 1e9).toFixed(digits)}s`;
}

// The time of a word, if the page can know it; null if only the command knows.
export function time_of(word, moments, duration_ns) {
    const found = moments.find((moment) => moment.word === word);
    if (found)
        return found.time_ns;
    if (word === "exit")
        return duration_ns;
    const share = /^([\d.]+)%$/.exec(word), seconds = /^([\d.]+)s$/.exec(word);
    return share ? duration_ns * share[1] / 100 : seconds ? seconds[1] * 1e9 : null;
}

// The named moment before or after a time, for the arrow keys.
export function neighbour(time_ns, moments, step) {
    const other = step > 0 ? moments.find((moment) => moment.time_ns > time_ns)
                           : moments.findLast((moment) => moment.time_ns < time_ns);
    return other ? other.word : null;
}

const AGREES = 0.15;

// Footprints of RSS, split where the RSS between two of them is far from the straight line between them: what it
// consisted of there is unknown.
export function ribbon_runs(footprints, rss) {
    const runs = [];
    footprints.forEach((footprint, i) => {
        const before = footprints[i - 1];
        if (before && rss_agrees(before, footprint, rss))
            runs[runs.length - 1].push(footprint);
        else
            runs.push([footprint]);
    });
    return runs;
}

function rss_agrees(a, b, rss) {
    const span = b.time_ns - a.time_ns || 1;
    return rss.every(([at, bytes]) => {
        if (at <= a.time_ns || at >= b.time_ns)
            return true;
        const line = a.rss_bytes + (b.rss_bytes - a.rss_bytes) * (at - a.time_ns) / span;
        return Math.abs(bytes - line) <= AGREES * line;
    });
}
