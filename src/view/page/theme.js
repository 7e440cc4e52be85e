// theme: light or dark, as the system says unless the reader chooses.

const system_dark = globalThis.matchMedia ? matchMedia("(prefers-color-scheme: dark)") : {matches: false};
let theme_chosen = false;

export function is_dark() {
    return document.documentElement.dataset.theme === "dark";
}

function use_theme(dark, redraw) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    redraw(); // pictures take their colours from the style
}

export function start_theme(redraw) {
    document.documentElement.dataset.theme = system_dark.matches ? "dark" : "light";
    system_dark.addEventListener("change", () => {
        if (!theme_chosen)
            use_theme(system_dark.matches, redraw);
    });
}

export function change_theme(redraw) {
    theme_chosen = true;
    use_theme(!is_dark(), redraw);
}
