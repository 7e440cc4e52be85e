// worker: the engine in a thread of its own, so that the page stays responsive.
import {Engine} from "./engine.js";

let engine = null;

self.onmessage = async ({data}) => {
    try {
        if (data.files) {
            engine = new Engine(data.core, data.files);
            await engine.start();
            self.postMessage({id: data.id, answer: {status: 0, out: "", err: ""}});
        } else {
            self.postMessage({id: data.id, answer: data.words ? await engine.run(data.words) : engine.prepare()});
        }
    } catch (e) {
        self.postMessage({id: data.id, answer: {status: 1, out: "", err: e.message}});
    }
};
