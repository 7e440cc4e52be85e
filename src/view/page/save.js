// save: saves what is on screen as a file, or copies it to the clipboard.

export function save_blob(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function save_text(text, name, type) {
    save_blob(new Blob([text], {type}), name);
}

// Rows of cells as CSV. A cell that a spreadsheet would take for a formula is only quoted: names of functions do begin
// with = or -, and must not change.
export function csv_of(rows) {
    const cell = (value) => {
        const text = value === null || value === undefined ? "" : String(value);
        return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => row.map(cell).join(",") + "\n").join("");
}

const DRAWN = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-size",
    "font-family", "font-weight", "text-anchor"
];
const SVG = "http://www.w3.org/2000/svg";

function svg_element(name, attributes, text = "") {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
        element.setAttribute(key, value);
    element.textContent = text;
    return element;
}

// A copy of a picture that needs no style sheet: its styles are written into the elements.
function styled_copy(svg, x, y) {
    const copy = svg.cloneNode(true), box = svg.getBoundingClientRect();
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, i) => {
        const style = getComputedStyle(element);
        for (const name of DRAWN)
            to[i].setAttribute(name, style.getPropertyValue(name));
        to[i].removeAttribute("class");
    });
    for (const [name, value] of Object.entries({x, y, width: Math.round(box.width), height: Math.round(box.height)}))
        copy.setAttribute(name, value);
    return copy;
}

// The pictures in an element as one SVG, each at its place on screen, with its caption.
export function svg_of(element) {
    const box = element.getBoundingClientRect(), style = getComputedStyle(document.body);
    const whole = svg_element("svg", {width: Math.round(box.width), height: Math.round(box.height)});
    whole.append(svg_element("rect", {width: "100%", height: "100%", fill: style.backgroundColor}));
    for (const svg of element.matches("svg") ? [element] : element.querySelectorAll("svg")) {
        const at = svg.getBoundingClientRect(), caption = svg.closest("figure")?.querySelector("figcaption");
        whole.append(styled_copy(svg, Math.round(at.x - box.x), Math.round(at.y - box.y)));
        if (caption) {
            const above = caption.getBoundingClientRect();
            whole.append(svg_element("text", {
                x: Math.round(above.x - box.x) + 6,
                y: Math.round(above.y - box.y) + 13,
                "font-size": 12,
                "font-family": style.fontFamily,
                fill: style.color
            },
                caption.textContent));
        }
    }
    return whole;
}

export function svg_text(svg) {
    return new XMLSerializer().serializeToString(svg);
}

// The same as a PNG with twice the resolution.
export async function svg_png(svg) {
    const image = new Image(), canvas = document.createElement("canvas");
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg_text(svg));
    await image.decode();
    canvas.width = Number(svg.getAttribute("width")) * 2;
    canvas.height = Number(svg.getAttribute("height")) * 2;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export async function copy_text(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch { // a page from a file may have no clipboard API; execCommand still works there
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}
