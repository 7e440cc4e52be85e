// chart: lines, steps and stacked areas over time or marks, as SVG.
//
//     const chart = new Chart({width, height, x: [0, 100], y: [0, 5e6], format_x, format_y});
//     chart.steps(points, {class: "live"});  box.append(chart.svg);
import {sv} from "./dom.js";

// Round numbers for an axis: powers of 1024 for bytes, of ten otherwise.
export function ticks(from, to, wanted, binary) {
    const span = to - from;
    if (!(span > 0))
        return [from];
    let unit = 1;
    if (binary) {
        while (span / unit >= 1024)
            unit *= 1024;
    }
    const raw = span / unit / wanted, ten = 10 ** Math.floor(Math.log10(raw));
    const step = unit * ten * [1, 2, 5, 10].find((k) => k * ten >= raw);
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to * (1 + 1e-9); at += step)
        found.push(at);
    return found;
}

// At most two points per pixel: the lowest and the highest of each, so that no peak is lost.
export function thin_points(points, width) {
    if (points.length <= width * 2)
        return points;
    const first = points[0][0], span = points[points.length - 1][0] - first || 1;
    const kept = [];
    for (let i = 0; i < points.length;) {
        const pixel = Math.floor((points[i][0] - first) / span * width);
        let low = i, high = i, j = i;
        for (; j < points.length && Math.floor((points[j][0] - first) / span * width) === pixel; j++) {
            low = points[j][1] < points[low][1] ? j : low;
            high = points[j][1] > points[high][1] ? j : high;
        }
        const last = j - 1;
        kept.push(...[...new Set([i, Math.min(low, high), Math.max(low, high), last])].map((k) => points[k]));
        i = j;
    }
    return kept;
}

// The width of each of several pictures side by side, if none may be narrower than `least`.
export function picture_width(least) {
    const room = Math.max(document.documentElement.clientWidth - 58, 260),
          columns = Math.max(Math.floor((room + 12) / (least + 12)), 1);
    return Math.floor((room - 12 * (columns - 1)) / columns) - 16;
}

export class Chart {
    constructor({
        width,
        height,
        x,
        y,
        format_x = String,
        format_y = String,
        margin = {},
        x_ticks = 6,
        y_ticks = 4,
        binary = true,
        label = ""
    }) {
        this.width = width;
        this.height = height;
        this.margin = {left: 64, right: 12, top: 10, bottom: 22, ...margin};
        this.x = x[1] > x[0] ? x : [x[0], x[0] + 1];
        this.y = y[1] > y[0] ? y : [y[0], y[0] + 1];
        this.svg = sv("svg",
            {class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label});
        this.axes({format_x, format_y, x_ticks, y_ticks, binary});
    }

    at_x(value) {
        const {left, right} = this.margin;
        return left + (value - this.x[0]) / (this.x[1] - this.x[0]) * (this.width - left - right);
    }

    at_y(value) {
        const {top, bottom} = this.margin;
        return this.height - bottom - (value - this.y[0]) / (this.y[1] - this.y[0]) * (this.height - top - bottom);
    }

    // The value at a distance from the left.
    value_x(px) {
        const {left, right} = this.margin;
        const share = (px - left) / (this.width - left - right);
        return this.x[0] + Math.min(Math.max(share, 0), 1) * (this.x[1] - this.x[0]);
    }

    axes({format_x, format_y, x_ticks, y_ticks, binary}) {
        const {left, right, bottom} = this.margin;
        for (const value of y_ticks ? ticks(this.y[0], this.y[1], y_ticks, binary) : []) {
            const y = this.at_y(value);
            this.add("line", {class: "grid", x1: left, x2: this.width - right, y1: y, y2: y});
            this.text(left - 6, y + 3.5, format_y(value), {class: "axis", "text-anchor": "end"});
        }
        for (const value of x_ticks ? ticks(this.x[0], this.x[1], x_ticks, false) : []) {
            const x = this.at_x(value);
            this.add("line", {class: "tick", x1: x, x2: x, y1: this.height - bottom, y2: this.height - bottom + 4});
            this.text(x, this.height - bottom + 15, format_x(value), {
                class: "axis",
                "text-anchor": x > this.width - right - 30 ? "end"
                    : x < left + 12                        ? "start"
                                                           : "middle"
            });
        }
    }

    add(tag, attributes, ...children) {
        const element = sv(tag, attributes, ...children);
        this.svg.append(element);
        return element;
    }

    text(x, y, text, attributes) {
        return this.add("text", {x, y, ...attributes}, text);
    }

    path_of(points, stepped) {
        let path = "", last = null;
        for (const [x, y] of thin_points(points, this.width)) {
            const px = this.at_x(x).toFixed(1), py = this.at_y(y).toFixed(1);
            path += !path ? `M${px},${py}` : stepped ? `H${px}V${py}` : `L${px},${py}`;
            last = x;
        }
        return stepped && last !== null && last < this.x[1] && stepped === "to-end" ? path + `H${this.at_x(this.x[1])}`
                                                                                    : path;
    }

    line(points, attributes) {
        return this.add("path", {fill: "none", d: this.path_of(points, false), ...attributes});
    }

    steps(points, attributes) {
        return this.add("path", {fill: "none", d: this.path_of(points, true), ...attributes});
    }

    // The area below a line, down to 0.
    area(points, attributes, stepped = true) {
        if (!points.length)
            return null;
        const ground = this.at_y(Math.max(this.y[0], 0)).toFixed(1);
        const first = this.at_x(points[0][0]).toFixed(1), last = this.at_x(points[points.length - 1][0]).toFixed(1);
        return this.add(
            "path", {d: `${this.path_of(points, stepped)}L${last},${ground}L${first},${ground}Z`, ...attributes});
    }

    // Stacked layers: layers is [{values: [...], class, title}] over the same xs.
    stack(xs, layers) {
        let below = xs.map(() => 0);
        for (const layer of layers) {
            const above = below.map((value, i) => value + layer.values[i]);
            const up = xs.map((x, i) => [x, above[i]]), down = xs.map((x, i) => [x, below[i]]).reverse();
            const points = [...up, ...down].map(([x, y]) => `${this.at_x(x).toFixed(1)},${this.at_y(y).toFixed(1)}`);
            this.add("polygon", {points: points.join(" "), class: "layer", style: `fill:${layer.color}`},
                sv("title", {}, layer.title));
            below = above;
        }
    }
}
