// dom: makes elements. Every text goes in as a text node, so a name is never taken for markup.
//
//     el("button", {class: "tab", onclick: () => go()}, "Flame")
//     sv("rect", {x: 0, y: 0, width: 10, height: 5})

function fill_element(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined || value === false)
            continue;
        if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else
            element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(3)) {
        if (child !== null && child !== undefined && child !== false)
            element.append(child);
    }
    return element;
}

export function el(tag, attributes, ...children) {
    return fill_element(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function sv(tag, attributes, ...children) {
    return fill_element(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// A button; `title` is its tooltip and is read aloud.
export function button(label, onclick, attributes) {
    return el("button", {type: "button", onclick, ...attributes}, label);
}

// A row of buttons, one of which is chosen: choices is [[value, label, title?], ...].
export function segmented(label, choices, chosen, choose) {
    return el("span", {class: "segmented", role: "group", "aria-label": label},
        choices.map(([value, text, title]) => button(text, () => choose(value),
                        {"aria-pressed": String(value === chosen), title, "data-value": value})));
}

// A labelled selection: choices is [[value, label, disabled title?], ...].
export function selection(label, choices, chosen, choose, attributes) {
    const select = el("select", {"aria-label": label, onchange: () => choose(select.value), ...attributes},
        choices.map(([value, text, why]) =>
                        el("option", {value, selected: value === chosen, disabled: Boolean(why), title: why}, text)));
    return el("label", {class: "field"}, el("span", {}, label), select);
}

export function replace(element, ...children) {
    element.replaceChildren(
        ...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

// A colour of the page's style, by its name: css_color("--live").
export function css_color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
