// shell: the frame around the views: header, tabs, controls, timeline, and the command at the bottom.
import {badge_of, origin_line} from "./badge.js";
import {draw_controls, find_lacking_metrics} from "./controls.js";
import {core} from "./core.js";
import {button, el, replace} from "./dom.js";
import {base_name, command_text, shorten, time} from "./format.js";
import {help_dialog} from "./help.js";
import {copy_text, save_blob, save_text, svg_of, svg_png, svg_text} from "./save.js";
import {change, on_change, start_state, state} from "./state.js";
import {change_theme, start_theme} from "./theme.js";
import {draw_timeline, has_times, timeline_data} from "./timeline.js";

const parts = {}; // the elements of the frame, by name
const REFRESH_MS = 5000;
let following = true; // for a running recording
let views = [];
let timeline = null; // of the current process
let drawing = 0; // number of the latest drawing: older ones that come late are dropped
let actions = {}; // how the current view can be saved

function current_view() {
    return views.find((view) => view.id === state.view) || views[0];
}

export function toggle_theme() {
    change_theme(draw_all);
}

function build_frame() {
    parts.head = el("header", {id: "head"});
    parts.origin = el("div", {id: "origin"});
    parts.tabs = el("nav", {id: "tabs", "aria-label": "Views"});
    parts.controls = el("div", {id: "controls"});
    parts.timeline = el("div", {id: "timeline"});
    parts.tools = el("div", {id: "tools"});
    parts.view = el("main", {id: "view", tabindex: "-1"}, el("p", {class: "quiet"}, "Opening the recording…"));
    parts.command = el("code", {id: "command"});
    parts.said = el("output", {id: "said", role: "status"});
    parts.help = help_dialog(views);
    replace(document.getElementById("app"), parts.head, parts.origin, parts.tabs, parts.controls, parts.timeline, parts.tools,
        parts.view,
        el("footer", {id: "foot"}, el("span", {class: "prompt", "aria-hidden": "true"}, "$"), parts.command,
            button("Copy command", copy_command,
                {id: "copy-command", title: "copy the command that gives these numbers (y)"}),
            parts.said),
        parts.help);
}

export function say(text) {
    parts.said.textContent = text;
    setTimeout(() => {
        if (parts.said.textContent === text)
            parts.said.textContent = "";
    }, 2500);
}

function shown_command() {
    const view = current_view(), which = view.which ? view.which(state) : Number(state.file);
    return "tidemark " + command_text(core.words(view.words(state, timeline), which).filter((word) => word !== "--json"));
}

export async function copy_command() {
    await copy_text(shown_command());
    say("copied");
}

export function show_help() {
    parts.help.showModal();
}

function draw_head(report) {
    const command = report.command.join(" "), name = base_name(report.command[0] || "");
    document.title = `${name} · tidemark`;
    replace(parts.head, el("span", {class: "brand"}, el("i", {class: "wave", "aria-hidden": "true"}), "tidemark"),
        el("h1", {title: command}, shorten(command, 90)),
        el("span", {class: "quiet facts"},
            report.merged ? ""
                          : [time(report.duration_ns), !core.live && !report.imported && report.ending, report.pid !== null && `pid ${report.pid}`].filter(Boolean).join(" · ")),
        el("span", {class: "spring"}), badge_of(report), core.live ? live_control() : null,
        button(
            "◐", toggle_theme, {class: "icon", id: "theme", title: "light or dark (v)", "aria-label": "light or dark"}),
        button("?", show_help, {class: "icon", id: "show-help", title: "help (?)", "aria-label": "help"}));
    replace(parts.origin, origin_line(report));
}

// A running recording is read again every few seconds, unless the reader holds it.
function live_control() {
    const follow = button("Live", () => {
        following = !following;
        follow.setAttribute("aria-pressed", String(following));
    }, {id: "live", "aria-pressed": String(following), title: "look again every few seconds"});
    return el("span", {class: "segmented"}, follow, button("Look again", refresh, {id: "refresh"}));
}

async function refresh() {
    try {
        await core.refresh();
        timeline = null;
        await draw_all();
    } catch (problem) {
        following = false;
        say(problem.message);
    }
}

async function follow_recording() {
    for (;;) {
        await new Promise((done) => setTimeout(done, REFRESH_MS));
        if (following && !document.hidden)
            await refresh();
    }
}

function draw_tabs() {
    replace(parts.tabs, views.map((view) => button(view.title, () => change({view: view.id, search: "", sort: ""}), {
        class: "tab",
        "data-view": view.id,
        "aria-current": view === current_view() ? "page" : null,
        title: `${view.title} (${view.key})`
    })));
    parts.tabs.querySelector("[aria-current]")?.scrollIntoView({block: "nearest", inline: "nearest"});
}

// A view provides the element that contains its pictures, or makes its own files.
async function save_picture(kind) {
    const picture = actions.picture, name = `tidemark-${state.view}.${kind}`;
    if (kind === "svg")
        save_text(picture.svg ? await picture.svg() : svg_text(svg_of(picture.element())), name, "image/svg+xml");
    else
        save_blob(picture.png ? await picture.png() : await svg_png(svg_of(picture.element())), name);
    say(`saved ${name}`);
}

function draw_tools() {
    const failed = (problem) => say(problem.message);
    replace(parts.tools,
        actions.csv ? [button("Save CSV", () => actions.csv().then((text) => {
            save_text(text, `tidemark-${state.view}.csv`, "text/csv");
            say(`saved tidemark-${state.view}.csv`);
        }).catch(failed), {id: "save-csv"}),
        button("Copy CSV", () => actions.csv().then(copy_text).then(() => say("copied")).catch(failed), {id: "copy-csv"})] : null,
        actions.picture ? [button("Save SVG", () => save_picture("svg").catch(failed), {id: "save-svg"}),
            button("Save PNG", () => save_picture("png").catch(failed), {id: "save-png"})] : null);
}

async function draw_view(number) {
    const view = current_view();
    parts.view.setAttribute("aria-busy", "true");
    let drawn;
    try {
        drawn = await view.draw({...state}, timeline);
    } catch (problem) {
        drawn = {
            content: el("div", {class: "problem", role: "alert"}, el("p", {}, problem.message),
                el("p", {class: "quiet"}, "The command at the bottom says the same."))
        };
    }
    if (number !== drawing)
        return;
    actions = drawn;
    replace(parts.view, drawn.content);
    parts.view.removeAttribute("aria-busy");
    parts.view.dataset.shows = view.id;
    parts.view.dataset.drawn = number;
    if (drawn.ready)
        drawn.ready();
    draw_tools();
}

function draw_timeline_now() {
    const view = current_view();
    const timed = view.timeline !== false && (!timeline || has_times(timeline));
    parts.timeline.hidden = !timed;
    if (timeline && timed)
        draw_timeline(parts.timeline, timeline, view.id === "summary");
}

// The timeline belongs to a process; a new one is asked for when that changes.
async function take_timeline() {
    const of = `${state.file} ${state.process}`;
    if (timeline && timeline.of === of)
        return;
    const next = await timeline_data(state);
    next.of = of;
    timeline = next;
}

function draw_frame() {
    draw_head(timeline.report);
    draw_tabs();
    draw_controls(parts.controls, current_view(), timeline.report, timeline.moments);
    draw_timeline_now();
    replace(parts.command, shown_command());
}

async function draw_all() {
    const number = ++drawing;
    parts.view.dataset.wanted = number; // equals `drawn` once the view shows the state
    try {
        await take_timeline();
    } catch (problem) {
        replace(parts.view, el("div", {class: "problem", role: "alert"}, problem.message));
        parts.view.dataset.drawn = number;
        return;
    }
    if (number !== drawing)
        return;
    const drawn = draw_view(number); // the frame is drawn while the commands compute the answer
    draw_frame();
    await drawn;
    if (timeline && !timeline.begun) {
        const mine = timeline;
        mine.begun = true;
        mine.later(() => timeline === mine && draw_timeline_now())
            .then(() => core.prepare())
            .then(() => find_lacking_metrics(() => timeline === mine &&
                          draw_controls(parts.controls, current_view(), mine.report, mine.moments)));
    }
}

export async function start_shell(all_views, first) {
    views = all_views;
    start_state(first);
    start_theme(draw_all);
    build_frame();
    on_change(draw_all);
    let width = innerWidth;
    window.addEventListener("resize", () => {
        if (innerWidth !== width) {
            width = innerWidth;
            draw_all();
        }
    });
    await draw_all();
    if (core.live)
        follow_recording();
}
