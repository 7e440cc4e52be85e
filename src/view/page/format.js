// format: numbers in the form of the command line, and names that fit. bytes, count, time and ms give the same text as
// unit_bytes, unit_count, unit_time and unit_ms of src/base/units.c; a test compares them.

// A number with some decimals, rounded as by printf("%.1f"): a tie goes to the even digit.
export function fixed(x, digits) {
    const size = Math.abs(x), exact = size.toFixed(20);
    const point = exact.indexOf("."), kept = exact.slice(0, point + (digits ? digits + 1 : 0));
    const rest = exact.slice(point + 1 + digits);
    const tie = /^50*$/.test(rest), even = Number(kept[kept.length - 1]) % 2 === 0;
    const text = size < 1e20 && tie && even ? kept : size.toFixed(digits);
    return x < 0 ? "-" + text : text;
}

export function bytes(n) {
    if (n === null || n === undefined)
        return "";
    let size = Math.abs(n), unit = -1;
    if (size < 1024)
        return `${Math.trunc(n)} B`;
    for (; size >= 1023.95 && unit < 5; unit++)
        size /= 1024;
    return `${n < 0 ? "-" : ""}${fixed(size, 1)} ${["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][Math.max(unit, 0)]}`;
}

export function count(n) {
    if (n === null || n === undefined)
        return "";
    return String(Math.trunc(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// "1 block", "2 blocks".
export function counted(n, word) {
    return `${count(n)} ${word}${n === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
}

export function time(ns) {
    if (ns === null || ns === undefined)
        return "";
    const s = ns / 1e9;
    if (!ns)
        return "0 s";
    if (ns < 1e6)
        return `${fixed(s * 1e6, 1)} us`;
    if (ns < 1e9)
        return `${fixed(s * 1e3, 1)} ms`;
    if (s < 120)
        return `${fixed(s, 3)} s`;
    if (s < 7200)
        return `${Math.floor(s / 60)} min ${Math.floor(s) % 60} s`;
    return `${Math.floor(ns / 3600e9)} h ${Math.floor(ns / 60e9) % 60} min`;
}

export function ms(ns) {
    const tenths = Math.floor((Math.abs(ns) + 50000) / 100000);
    return `${ns < 0 && tenths ? "-" : ""}${count(Math.floor(tenths / 10))}.${tenths % 10} ms`;
}

// A value in its unit: "bytes", "ns" or "samples".
export function amount(n, unit) {
    return unit === "ns" ? ms(n) : unit === "samples" ? count(n) : bytes(n);
}

// With a plus sign, for differences.
export function signed(text, n) {
    return n > 0 ? "+" + text : text;
}

export function percent(part, whole) {
    return whole ? fixed(part / whole * 100 + 0, 1) : "-";
}

// The largest of many numbers, at least `least`; a recording may have more numbers than a call can have arguments.
export function highest(numbers, least = 0) {
    return numbers.reduce((a, b) => b > a ? b : a, least);
}

export function lowest(numbers) {
    return numbers.reduce((a, b) => b < a ? b : a, Infinity);
}

export function base_name(path) {
    return path ? path.slice(path.lastIndexOf("/") + 1) : "";
}

// "file.c:12" of a row or frame, or its library.
export function place_of(row) {
    if (row.file)
        return base_name(row.file) + (row.line ? `:${row.line}` : "");
    return row.module || "";
}

export function whole_place(row) {
    return [row.file ? row.file + (row.line ? `:${row.line}` : "") : "", row.module].filter(Boolean).join("  in ");
}

const NAME_BYTES = 4096;

// A name as a hint shows it: the recorder keeps so many bytes of the names of Python functions, and drops the last
// character if that would be cut.
export function told_name(name) {
    if (name.length > NAME_BYTES || name.length * 4 < NAME_BYTES - 3)
        return name;
    const size = new TextEncoder().encode(name).length;
    return size > NAME_BYTES - 4 && size <= NAME_BYTES ? `${name}… (names are cut after ${count(NAME_BYTES)} bytes)` : name;
}

// At most `room` characters: the beginning and the end are kept.
export function shorten(text, room) {
    if (text.length <= room)
        return text;
    const end = Math.floor((room - 1) / 3);
    return text.slice(0, room - 1 - end) + "…" + (end ? text.slice(-end) : "");
}

// A pattern for exactly this text, for --within and similar options (POSIX extended).
export function pattern_of(text) {
    return "^" + text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&") + "$";
}

export function command_text(words) {
    return words.map((word) => /^[\w@%+=:,./#-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}
