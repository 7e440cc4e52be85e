// flame_colors: the colours of the boxes of a flame graph. page.css has those of kinds of code (--f-native, --f-python
// and so on), of the text in boxes (--f-ink) and of boxes that match a search (--hit).
import {css_color} from "./dom.js";
import {hash_text} from "./flame_layout.js";

// The colour of each kind of code, by its name.
export function kind_colors(kinds) {
    return Object.fromEntries(kinds.map((kind) => [kind, css_color(`--f-${kind}`)]));
}

// For a library, a colour from its name: always the same, never too near to black or white.
export function color_of_name(name, dark) {
    const hash = hash_text(name, 0x811c9dc5 | 0) >>> 0;
    return `hsl(${hash % 360} ${30 + (hash >>> 9) % 25}% ${dark ? 30 + (hash >>> 15) % 10 : 72 + (hash >>> 15) % 10}%)`;
}

const GREW = 12, SHRANK = 215; // hues

// Between two recordings: the deeper, the larger the part that changed.
export function difference_color(before, now, dark) {
    const most = Math.max(Math.abs(before), Math.abs(now)), part = most ? (now - before) / most : 0;
    return `hsl(${part >= 0 ? GREW : SHRANK} ${Math.round(Math.abs(part) * 70)}% ${
        dark ? 30 : 88 - Math.round(Math.abs(part) * 26)}%)`;
}

// What the legend of a difference shows, as [colour, text].
export const DIFFERENCE_KEYS = [[`hsl(${GREW} 70% 62%)`, "grew"], [`hsl(${SHRANK} 70% 62%)`, "shrank"]];
