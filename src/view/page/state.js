// state: what is on screen, as one object that is also the address of the page.
//
// Only what differs from the defaults is in the address, so a link stays short. A change makes an
// entry in the browser's history; so back and forward work.
//
//     state.metric, change({view: "flame", metric: "peak"}), on_change((now, before) => ...)

export const DEFAULTS = Object.freeze({
    view: "summary",
    metric: "", // "": the command's default
    size: "requested",
    by: "function",
    mode: "at", // at; difference: --since to --at; total: what was allocated in that window
    since: "",
    at: "",
    process: "",
    file: "0", // which of two recordings
    thread: "",
    within: Object.freeze([]),
    ignore: Object.freeze([]),
    fold: Object.freeze([]),
    language: "both", // python, native
    imports: "shown", // hidden: Python's import system is folded
    search: "",
    select: "", // the function of the callers and source views
    sort: "", // column of the table, with - for descending
    shape: "icicle", // of the flame graph: flame has the root below
    from: "root", // leaf: merged from the function that is charged
    color: "language",
    zoom: "",
    min: "0.5", // per cent: smaller calls are left out of the tree
    kinds: "", // of leaks
    maps: "kind",
    label: "", // of marks
    spread: "size", // lifetime
});

// The state without filters, at the end of the run, in requested bytes.
export function unfiltered(state) {
    const {mode, since, at, within, ignore, fold, thread, language, imports, metric, by, size} = DEFAULTS;
    return {...state, mode, since, at, within, ignore, fold, thread, language, imports, metric, by, size};
}

export function to_hash(state) {
    const words = [];
    for (const [name, normal] of Object.entries(DEFAULTS)) {
        const value = state[name];
        if (Array.isArray(normal))
            words.push(...value.map((one) => `${name}=${encodeURIComponent(one)}`));
        else if (value !== normal)
            words.push(`${name}=${encodeURIComponent(value)}`);
    }
    return words.length ? "#" + words.join("&") : "";
}

export function from_hash(hash) {
    const state = {...DEFAULTS};
    for (const word of hash.replace(/^#/, "").split("&")) {
        const cut = word.indexOf("="), name = word.slice(0, cut);
        if (cut < 0 || !Object.hasOwn(DEFAULTS, name))
            continue;
        let value;
        try {
            value = decodeURIComponent(word.slice(cut + 1));
        } catch {
            continue; // this page did not write it
        }
        state[name] = Array.isArray(DEFAULTS[name]) ? [...state[name], value] : value;
    }
    return state;
}

export const state = {...DEFAULTS};
const watchers = [];

export function on_change(watcher) {
    watchers.push(watcher);
}

function take_state(next) {
    const before = {...state};
    Object.assign(state, next);
    for (const watcher of watchers)
        watcher(state, before);
}

// Uses the whole address, because a page in a frame of a notebook (about:srcdoc) has another base. If a frame may not
// change its address, the state is only in the page.
function set_address(hash, quiet) {
    try {
        history[quiet ? "replaceState" : "pushState"](null, "", location.href.split("#")[0] + hash);
    } catch (e) {
        console.info(e.message);
    }
}

// `quiet`: this is no step to come back to (typing, hovering), so the last entry is replaced.
export function change(part, quiet = false) {
    const next = {...state, ...part};
    if (to_hash(next) === to_hash(state))
        return;
    set_address(to_hash(next), quiet);
    take_state(next);
}

// Reads the state from the address, now and whenever it changes; `first` is used if the page was opened without one.
export function start_state(first = "") {
    if (first && !location.hash)
        set_address(first, true);
    Object.assign(state, from_hash(location.hash || first));
    const follow = () => {
        const next = from_hash(location.hash);
        if (to_hash(next) !== to_hash(state))
            take_state(next);
    };
    window.addEventListener("popstate", follow);
    window.addEventListener("hashchange", follow);
}
