// stacks: a call stack as a list of lines, each of which is a link.
import {button, el} from "./dom.js";
import {place_of, shorten, told_name, whole_place} from "./format.js";
import {change} from "./state.js";

const FIRST_FRAMES = 14;

// A link to a function's callers and callees; `more` is what else of the state changes. A name in brackets is no
// function: [itself], [cut].
export function function_link(name, room = 70, more = {}) {
    if (name.startsWith("["))
        return el("span", {class: "name"}, name);
    return button(shorten(name, room), () => change({view: "callers", select: name, search: "", ...more}),
        {class: "link name", title: `${told_name(name)}\ncallers and callees`});
}

// The column of a table (table.js) that shows where a row's function is.
export const WHERE_COLUMN = {
    key: "where",
    title: "where",
    left: true,
    value: (row) => place_of(row),
    hint: whole_place,
    node: (row) => el("span", {class: "place"}, place_of(row))
};

function frame_line(frame) {
    return el("li", {class: `frame ${frame.kind || ""}`}, function_link(frame.function, 90), " ",
        el("span", {class: "place", title: whole_place(frame)}, place_of(frame)),
        frame.kind && frame.kind !== "native" ? el("span", {class: "tag"}, frame.kind) : null);
}

// Innermost frame first.
export function stack_list(stack) {
    const list = el("ol", {class: "stack"}, stack.slice(0, FIRST_FRAMES).map(frame_line));
    if (stack.length > FIRST_FRAMES) {
        const rest = el("li", {},
            button(`${stack.length - FIRST_FRAMES} more callers`,
                () => rest.replaceWith(...stack.slice(FIRST_FRAMES).map(frame_line)), {class: "link"}));
        list.append(rest);
    }
    return list;
}
