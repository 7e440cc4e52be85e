// core: asks the commands of tidemark for the page, and keeps their answers.
//
//     await core.ask(["report", "--json", "--metric", "peak"])   the parsed JSON
//     await core.text(["report", "--top", "5"])                  what the command prints
//     await core.csv(["report", "--by", "line"])                 the same with --csv
//
// The names of the recordings are put in by core: `diff` gets both, any other command the first, or
// the one whose number is given as second argument (core.ask(words, 1)). A command that fails
// throws an Error with its message.
//
//     core.files     names of the recordings, one or two
//     core.mode      "embedded": the commands run in the page; "serve": `tidemark view` runs them
//     core.live      true: the recording still runs, and core.refresh() reads it again
//     core.limits    what `--limit` found, or []
//     core.source(path)  [[line, text], ...] of an embedded source file, or null
import {Engine} from "./engine.js";

const KEPT_CHARACTERS = 64 << 20;

function parse_element(id) {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
}

function texts_of(name) {
    return Array.from(document.getElementsByClassName(name), (element) => element.textContent);
}

// Decodes text with bytes as %XX, which may be cut off within a character.
function from_escaped(text) {
    const bytes = [];
    for (let i = 0; i < text.length; i++)
        bytes.push(text[i] === "%" ? parseInt(text.slice(i + 1, (i += 2) + 1), 16) : text.charCodeAt(i));
    return new TextDecoder().decode(new Uint8Array(bytes));
}

// Runs commands in a worker; in the page itself if there are no workers.
class EmbeddedRunner {
    constructor(names) {
        this.input = {
            core: texts_of("tidemark-core"),
            files: names.map((name, i) => ({name, texts: texts_of(`tidemark-file-${i}`)})),
        };
        this.waiting = new Map();
        this.next = 1;
        this.started = this.start();
    }

    async start() {
        try {
            const source = new Blob([document.getElementById("tidemark-worker").textContent], {type: "text/javascript"});
            this.worker = new Worker(URL.createObjectURL(source));
            await new Promise((done, failed) => {
                this.worker.onerror = () => failed(new Error("no worker"));
                this.worker.onmessage = ({data}) => {
                    if (this.waiting.has(data.id)) {
                        this.waiting.get(data.id)(data.answer);
                        this.waiting.delete(data.id);
                    } else {
                        this.problem = data.answer.err;
                        done();
                    }
                };
                this.worker.postMessage({id: 0, ...this.input});
            });
            this.worker.onerror = () => this.worker_ended();
        } catch (e) {
            this.worker = null;
            this.engine = new Engine(this.input.core, this.input.files);
            try {
                await this.engine.start();
            } catch (problem) {
                this.problem = problem.message;
            }
        }
        this.input = null;
        this.is_started = true;
    }

    // It most likely ran out of memory: no answer will come any more.
    worker_ended() {
        this.problem = "the page has no memory left; use tidemark view --serve, or the command itself";
        for (const done of this.waiting.values())
            done({status: 1, out: "", err: this.problem});
        this.waiting.clear();
    }

    // Without words: prepares for the next questions.
    async run(words) {
        if (!this.is_started)
            await this.started;
        if (this.problem)
            return {status: 1, out: "", err: this.problem};
        if (!this.worker)
            return words ? this.engine.run(words) : this.engine.prepare();
        return new Promise((done) => {
            const id = this.next++;
            this.waiting.set(id, done);
            this.worker.postMessage({id, words});
        });
    }
}

// Lets `tidemark view --serve` run the commands.
class ServeRunner {
    async post(path, body) {
        const response = await fetch(path + location.search, {method: "POST", body, cache: "no-store"});
        if (!response.ok)
            throw new Error((await response.text()).trim() || `tidemark view answered ${response.status}`);
        return response;
    }

    async run(words) {
        try {
            const response = await this.post("/ask", words.map((word) => word + "\0").join(""));
            return {
                status: Number(response.headers.get("X-Status")),
                err: from_escaped(response.headers.get("X-Message") || ""),
                out: await response.text(),
            };
        } catch (e) {
            const err = e instanceof TypeError ? "tidemark view has ended" : e.message;
            return {status: 1, out: "", err, lost: true};
        }
    }
}

class Core {
    constructor() {
        this.about = parse_element("tidemark-about") || {mode: "embedded", files: []};
        this.mode = this.about.mode;
        this.files = this.about.files;
        this.live = Boolean(this.about.live);
        this.limits = parse_element("tidemark-limits") || [];
        this.version = this.about.version;
        this.runner = this.mode === "serve" ? new ServeRunner() : new EmbeddedRunner(this.files);
        this.kept = new Map(); // key -> promise of the answer; the oldest first
        this.kept_size = 0;
        this.sources = parse_element("tidemark-sources") || {};
    }

    // The words of the whole command, with the names of the recordings.
    words(words, which = 0) {
        const [command, ...rest] = words, file = this.files[which];
        if (command === "merge") // a page can only list what was merged
            return [command, "--list", file, ...rest];
        return [command, ...(command === "diff" ? this.files.slice(0, 2) : [file]), ...rest];
    }

    run(words, which) {
        const all = this.words(words, which), key = all.join("\0");
        let answer = this.kept.get(key);
        if (answer) {
            this.kept.delete(key);
            this.kept.set(key, answer);
            return answer;
        }
        answer = this.runner.run(all);
        this.kept.set(key, answer);
        answer.then((got) => (got.lost ? this.kept.delete(key) : this.forget_oldest(key, got)));
        return answer;
    }

    forget_oldest(key, got) {
        if (!this.kept.has(key))
            return;
        this.kept_size += got.out.length;
        for (const [other, promise] of this.kept) {
            if (this.kept_size <= KEPT_CHARACTERS || other === key)
                break;
            this.kept.delete(other);
            promise.then((old) => {
                this.kept_size -= old.out.length;
            });
        }
    }

    async text(words, which) {
        const {status, out, err} = await this.run(words, which);
        if (status && !out)
            throw new Error(err.trim().replace(/^tidemark \w+: /, "") || `the command ended with ${status}`);
        return out;
    }

    // The parsed object is kept with the answer, so that a view that asks again gets the same object.
    async ask(words, which) {
        const answer = await this.run(words, which);
        if (!answer.json)
            answer.json = JSON.parse(await this.text(words, which));
        return answer.json;
    }

    csv(words, which) {
        return this.text([...words.filter((word) => word !== "--json"), "--csv"], which);
    }

    source(path) {
        return this.sources[path] || null;
    }

    // Called once the first screen is drawn; `tidemark view --serve` has prepared before.
    prepare() {
        return this.mode === "embedded" ? this.runner.run(null) : null;
    }

    // For a running recording: reads its present state and forgets all answers.
    async refresh() {
        if (!this.live)
            return;
        await this.runner.post("/refresh", "");
        this.kept.clear();
        this.kept_size = 0;
    }
}

export const core = new Core();
globalThis.tidemark = {core}; // for the console, and for tests
