// save: gives what is on screen to the reader as a file or on the clipboard.

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

// Rows of cells as CSV. A cell that a spreadsheet would take for a formula is still only quoted:
// names of functions do begin with = or -, and must come back as they are.
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

// An SVG of the page as a file of its own: what the style sheet gives is written into the elements.
export function svg_text(svg) {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((element, i) => {
        const style = getComputedStyle(element);
        for (const name of DRAWN)
            to[i].setAttribute(name, style.getPropertyValue(name));
        to[i].removeAttribute("class");
    });
    const box = svg.getBoundingClientRect();
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", Math.round(box.width));
    copy.setAttribute("height", Math.round(box.height));
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    ground.setAttribute("width", "100%");
    ground.setAttribute("height", "100%");
    ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.prepend(ground);
    return new XMLSerializer().serializeToString(copy);
}

// The same as a PNG, twice as fine.
export async function svg_png(svg) {
    const image = new Image(), box = svg.getBoundingClientRect();
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg_text(svg));
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(box.width) * 2;
    canvas.height = Math.round(box.height) * 2;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export async function copy_text(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch { // a page from a file may have no clipboard; the old way still works there
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}
