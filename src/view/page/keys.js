// keys: the keyboard.
import {change, state} from "./state.js";
import {copy_command, show_help, toggle_theme} from "./shell.js";

function step_select(id, step) {
    const select = document.getElementById(id);
    if (!select)
        return;
    const options = [...select.options].filter((option) => !option.disabled);
    const at = options.findIndex((option) => option.selected);
    select.value = options[(at + step + options.length) % options.length].value;
    select.dispatchEvent(new Event("change"));
}

function escape_key() {
    if (document.activeElement && document.activeElement !== document.body)
        document.activeElement.blur();
    const popover = document.querySelector(".popover:not([hidden])");
    if (popover)
        popover.hidden = true;
    else if (state.search)
        change({search: ""});
    else if (state.zoom)
        change({zoom: ""});
}

export function start_keys(views) {
    const keys = {
        "?": show_help,
        y: copy_command,
        v: toggle_theme,
        Escape: escape_key,
        "/": () => document.getElementById("search")?.focus(),
        "[": () => step_select("metric", -1),
        "]": () => step_select("metric", 1),
        b: () => step_select("by", 1),
        a: () => change({mode: "at"}),
        w: () => change({mode: "difference"}),
    };
    for (const view of views)
        keys[view.key] = () => change({view: view.id, search: "", sort: ""});
    document.addEventListener("keydown", (event) => {
        const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
        if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented ||
            (typing && event.key !== "Escape"))
            return;
        const dialog = document.querySelector("dialog[open]");
        if (dialog) {
            if (event.key === "Escape" || event.key === "?")
                dialog.close();
            return;
        }
        const act = keys[event.key];
        if (act) {
            event.preventDefault();
            act();
        }
    });
}
