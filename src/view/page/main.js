// main: where the page begins.
import {core} from "./core.js";

async function start() {
    const main = document.getElementById("main");
    try {
        main.textContent = JSON.stringify(await core.ask(["report", "--json", "--top", "20"]), null, 1);
    } catch (e) {
        main.textContent = e.message;
    }
}

start();
