// help: what the keys do, and how to read the page.
import {button, el} from "./dom.js";

const KEYS = [
    ["/", "search"],
    ["?", "this help"],
    ["Esc", "close, then clear search, then zoom out"],
    ["[ ]", "previous and next metric"],
    ["b", "next grouping"],
    ["a w", "state at a moment; difference in a window"],
    ["← →", "on the timeline: to the previous or next mark or peak; with Shift the beginning of the window"],
    ["↑ ↓ Enter", "in tables and trees: next row, open it"],
    ["← →", "in a tree: close, open"],
    ["← → ↑ ↓ Enter", "in a flame graph: move from box to box, zoom"],
    ["y", "copy the command"],
    ["v", "light or dark"],
];

export function help_dialog(views) {
    const dialog = el("dialog", {id: "help", "aria-label": "help"}, el("h2", {}, "How to read this page"),
        el("p", {},
            "Every number is the answer of the command at the bottom; copy it to get the same in a terminal. " +
                "Drag on the timeline to choose a window, click to choose a moment; both snap to marks and peaks. " +
                "A double click takes the whole run again. The address of the page holds what you see: " +
                "a link to it opens the same view."),
        el("h2", {}, "Keys"),
        el("dl", {class: "keys"},
            views.map((view) => [el("dt", {}, el("kbd", {}, view.key)), el("dd", {}, view.title)]),
            KEYS.map(([key,
                what]) => [el("dt", {}, key.split(" ").map((one) => [el("kbd", {}, one), " "])), el("dd", {}, what)])),
        button("Close", () => dialog.close(), {autofocus: true}));
    dialog.addEventListener("click", (event) => {
        if (event.target === dialog)
            dialog.close();
    });
    return dialog;
}
