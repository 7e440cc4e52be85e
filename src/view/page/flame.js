// flame: call paths as boxes, as wide as their values; drawn on a canvas, only the visible ones.
import {add_filter} from "./controls.js";
import {core} from "./core.js";
import {button, css_color, el, replace, segmented} from "./dom.js";
import {amount, base_name, count, fixed, pattern_of, percent, signed} from "./format.js";
import {color_of_name, DIFFERENCE_KEYS, difference_color, kind_colors} from "./flame_colors.js";
import {Layout, box_at, matched_boxes} from "./flame_layout.js";
import {matcher} from "./search.js";
import {matched_share} from "./search_share.js";
import {change} from "./state.js";
import {is_dark} from "./theme.js";
import {question_text, words_of} from "./command_words.js";

const ROW = 20, LETTER = 7.3, FINEST = 0.5; // in pixels; FINEST: the narrowest boxes that are asked for, of 1200
const layouts = new WeakMap();

function layout_of(answer) {
    if (!layouts.has(answer))
        layouts.set(answer, new Layout(answer));
    return layouts.get(answer);
}

// For two recordings, the difference: the second against the first.
function flame_words(now, finest = FINEST) {
    const more = [];
    if (core.files.length > 1 && now.color === "difference")
        more.push("--diff", core.files[0]);
    if (now.from === "leaf")
        more.push("--reverse");
    return words_of("flame", now, [...more, "--min-width", fixed(finest, finest < 0.01 ? 6 : 2), "--json"]);
}

// The command that draws the picture to be saved, on its standard output.
function flame_svg_words(now) {
    const words = flame_words(now).filter((word) => word !== "--json");
    return [...words, ...(now.shape === "icicle" ? ["--inverted"] : []), "-o", "-"];
}

// What a reader would type: without the page's own finest width.
function flame_shown_words(now) {
    const words = flame_words(now), finest = words.indexOf("--min-width");
    return [...words.filter((word, i) => i !== finest && i !== finest + 1), "-o", "flame.svg"];
}

function flame_file(now) {
    return now.color === "difference" && core.files.length > 1 ? 1 : Number(now.file);
}

class FlamePicture {
    constructor(layout, now, unit) {
        this.layout = layout;
        this.now = now;
        this.unit = unit;
        this.upward = now.shape === "flame";
        this.zoom = layout.find_path(now.zoom);
        this.hit = matched_boxes(layout, matcher(now.search));
        this.focus = this.zoom;
        this.boxes = [];
        this.canvas = el("canvas", {
            class: "flame",
            tabindex: "0",
            role: "img",
            "aria-label": `Flame graph with ${count(layout.count)} boxes; arrow keys move, Enter zooms`
        });
        this.spacer = el("div", {class: "flame-spacer"}, this.canvas);
        this.scroller = el("div", {class: "flame-scroll"}, this.spacer);
        this.details = el("output", {class: "flame-details"});
        this.scroller.addEventListener("scroll", () => this.draw());
        this.canvas.addEventListener("mousemove", (event) => this.point(event));
        this.canvas.addEventListener("mouseleave", () => this.tell(this.focus));
        this.canvas.addEventListener("click", (event) => this.pressed(event));
        this.canvas.addEventListener("keydown", (event) => this.keyed(event));
    }

    // Sizes are known once it is in the page.
    ready() {
        const rows = this.layout.deepest + 1;
        this.height = rows * ROW;
        this.view_height = Math.min(this.height, Math.max(innerHeight * 0.72, 260));
        this.scroller.style.height = `${this.view_height + 2}px`;
        this.spacer.style.height = `${this.height}px`;
        this.width = this.scroller.clientWidth;
        const finer = window.devicePixelRatio || 1;
        this.canvas.width = Math.round(this.width * finer);
        this.canvas.height = Math.round(this.view_height * finer);
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.view_height}px`;
        this.context = this.canvas.getContext("2d");
        this.context.scale(finer, finer);
        this.scroller.scrollTop = this.upward ? this.height : 0;
        this.draw();
        this.tell(this.zoom);
    }

    y_of(row) {
        return (this.upward ? this.height - (row + 1) * ROW : row * ROW) - this.scroller.scrollTop;
    }

    color_of(i, dark) {
        if (this.hit[i])
            return css_color("--hit");
        if (this.layout.answer.difference)
            return difference_color(this.layout.answer.before[i], this.layout.answer.now[i], dark);
        if (this.now.color === "library")
            return color_of_name(this.layout.module(i) || "?", dark);
        this.kinds ||= kind_colors(this.layout.answer.kinds);
        return this.kinds[this.layout.kind(i)];
    }

    draw() {
        const top = this.scroller.scrollTop, c = this.context, rows = this.layout.deepest;
        let first = Math.floor(top / ROW), last = Math.ceil((top + this.view_height) / ROW);
        if (this.upward)
            [first, last] = [rows - last, rows - first];
        this.boxes = this.layout.visible(this.zoom, this.width, Math.max(first, 0), last);
        const dark = is_dark(), ink = css_color("--f-ink");
        this.kinds = null;
        c.clearRect(0, 0, this.width, this.view_height);
        c.font = '12px ui-monospace, "DejaVu Sans Mono", monospace';
        c.textBaseline = "middle";
        for (const box of this.boxes) {
            const y = this.y_of(box.row), wide = Math.max(box.width - 0.6, 0.6);
            c.fillStyle = this.color_of(box.i, dark);
            c.globalAlpha = box.i && this.layout.depth[box.i] < this.layout.depth[this.zoom] ? 0.5 : 1;
            c.fillRect(box.x, y, wide, ROW - 1);
            if (box.width > 24) {
                c.fillStyle = this.hit[box.i] ? "#fff" : ink;
                c.fillText(this.label(box.i, box.width), box.x + 4, y + ROW / 2);
            }
            if (this.hit[box.i] || box.i === this.focus) {
                c.strokeStyle = box.i === this.focus ? css_color("--ink") : css_color("--hit");
                c.lineWidth = box.i === this.focus ? 1.6 : 1;
                c.strokeRect(box.x + 0.8, y + 0.8, Math.max(wide - 1.6, 0.4), ROW - 2.6);
            }
        }
        c.globalAlpha = 1;
    }

    label(i, width) {
        const place = base_name(this.layout.place(i)), name = this.layout.name(i),
              room = Math.floor((width - 8) / LETTER);
        const whole = place ? `${name}  ${place}` : name;
        if (whole.length <= room)
            return whole;
        return name.length <= room ? name : room > 3 ? name.slice(0, room - 1) + "…" : "";
    }

    at_event(event) {
        const y = event.offsetY + this.scroller.scrollTop;
        const row = this.upward ? this.layout.deepest - Math.floor(y / ROW) : Math.floor(y / ROW);
        return box_at(this.boxes, event.offsetX, row);
    }

    point(event) {
        const box = this.at_event(event);
        this.canvas.style.cursor = box ? "pointer" : "default";
        this.tell(box ? box.i : this.focus);
    }

    pressed(event) {
        const box = this.at_event(event);
        if (box)
            this.focus = box.i;
        if (box && event.altKey)
            change({view: "callers", select: this.layout.name(box.i)});
        else if (box)
            change({zoom: this.layout.path_name(box.i)});
    }

    // Up and down move to callers and callees, left and right to neighbours.
    keyed(event) {
        const l = this.layout, deeper = this.upward ? "ArrowUp" : "ArrowDown",
              back = this.upward ? "ArrowDown" : "ArrowUp";
        let to = -1;
        if (event.key === deeper)
            to = this.focus + 1 < l.end[this.focus] ? this.focus + 1 : -1;
        else if (event.key === back)
            to = l.parent[this.focus];
        else if (event.key === "ArrowRight")
            to = l.end[this.focus] < l.count && l.depth[l.end[this.focus]] === l.depth[this.focus] ? l.end[this.focus]
                                                                                                   : -1;
        else if (event.key === "ArrowLeft")
            to = this.left_neighbour();
        else if (event.key === "Enter")
            change({zoom: l.path_name(this.focus)});
        else
            return;
        event.preventDefault();
        event.stopPropagation();
        if (to >= 0) {
            this.focus = to;
            const y = this.y_of(l.depth[to]);
            if (y < 0 || y + ROW > this.view_height)
                this.scroller.scrollTop += y - this.view_height / 2;
            this.draw();
            this.tell(to);
        }
    }

    left_neighbour() {
        const l = this.layout;
        for (let i = this.focus - 1; i > l.parent[this.focus]; i--) {
            if (l.depth[i] === l.depth[this.focus])
                return i;
        }
        return -1;
    }

    tell(i) {
        const l = this.layout, a = l.answer, whole = l.width[0];
        const parts = a.difference ? [`${amount(a.before[i], this.unit)} before, ${amount(a.now[i], this.unit)} now `,
            `(${signed(amount(a.now[i] - a.before[i], this.unit), a.now[i] - a.before[i])})`]
            : [`${amount(a.now[i], this.unit)} (${percent(l.width[i], whole)} %)`, a.self[i] ? `, itself ${amount(a.self[i], this.unit)}` : ""];
        const name = l.name(i);
        replace(this.details, el("b", {class: "name"}, name), el("span", {"data-value": a.now[i]}, parts), el("span", {class: "place"},
            [l.place(i), l.module(i)].filter(Boolean).join("  ")),
        i ? [button("Callers", () => change({view: "callers", select: name}), {class: "link"}),
            button("Only through it", () => add_filter("within", pattern_of(name)), {class: "link"}),
            button("Without it", () => add_filter("ignore", pattern_of(name)), {class: "link"}),
            button("Fold it", () => add_filter("fold", pattern_of(name)), {class: "link"})] : null);
    }
}

function flame_legend(layout, now) {
    const key = (color, text) => el("span", {class: "key"}, el("i", {style: `background:${color}`}), text);
    if (layout.answer.difference)
        return el("div", {class: "legend"}, DIFFERENCE_KEYS.map(([color, text]) => key(color, text)),
            "the deeper the colour, the larger the part that changed");
    if (now.color === "library") {
        const widths = new Map();
        for (let i = 1; i < layout.count; i++)
            widths.set(layout.module(i), (widths.get(layout.module(i)) || 0) + layout.answer.self[i]);
        const dark = is_dark();
        return el("div", {class: "legend"},
            [...widths].filter(([name]) => name).sort((a, b) => b[1] - a[1]).slice(0, 10).map(([
                name
            ]) => key(color_of_name(name, dark), name)));
    }
    const kinds = [...new Set(layout.answer.kind)].map((kind) => layout.answer.kinds[kind]);
    return el("div", {class: "legend"}, kinds.map((kind) => key(`var(--f-${kind})`, kind)));
}

// A zoomed box may have callees that were too narrow before, so they are asked for as well.
async function flame_answer(now) {
    const which = flame_file(now);
    const first = await core.ask(flame_words(now), which), layout = layout_of(first);
    const zoom = layout.find_path(now.zoom);
    if (!zoom || !first.boxes_left_out)
        return first;
    return core.ask(flame_words(now, Math.max(FINEST * layout.width[zoom] / layout.width[0], 0.000001)), which);
}

async function draw_flame(now) {
    const answer = await flame_answer(now), layout = layout_of(answer);
    const picture = new FlamePicture(layout, now, answer.unit);
    const colors = [["language", "by language"], ["library", "by library"]];
    if (core.files.length > 1)
        colors.push(["difference", "difference"]);
    const content = el("div", {class: "flame-view"},
        el("div", {class: "view-bar"}, el("h2", {}, question_text(now, answer)),
            segmented("Shape", [["icicle", "Icicle", "the root on top"], ["flame", "Flame", "the root below"]],
                now.shape, (shape) => change({shape})),
            segmented("Merged from", [["root", "From the root"], ["leaf", "From the leaf"]], now.from,
                (from) => change({from, zoom: ""})),
            segmented("Colours", colors, now.color, (color) => change({color})),
            now.zoom ? button("Zoom out", () => change({zoom: ""}), {id: "zoom-out"}) : null, matched_share(now)),
        flame_legend(layout, now),
        layout.width[0] ? picture.scroller : el("p", {class: "quiet"}, "There is nothing to draw."), picture.details,
        answer.boxes_left_out
            ? el("p", {class: "quiet"},
                  `${count(answer.boxes_left_out)} boxes are too narrow to be drawn; zoom in to see them.`)
            : null);
    return {
        content,
        ready: () => layout.width[0] && picture.ready(),
        csv: () => core.csv(words_of("report", now, ["--tree"]), Number(now.file)),
        picture: {
            svg: () => core.text(flame_svg_words(now), flame_file(now)),
            png: () => new Promise((done) => picture.canvas.toBlob(done, "image/png")),
        },
    };
}

export const flame_view = {
    id: "flame",
    title: "Flame",
    key: "f",
    uses: ["process", "metric", "moments", "focus", "search"],
    words: flame_shown_words,
    which: flame_file,
    draw: draw_flame
};
