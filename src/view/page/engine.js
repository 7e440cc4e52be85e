// engine: the commands of tidemark, compiled to WebAssembly, on recordings that stay in memory.
//
// Runs in a worker (worker.js), or in the page itself where there are no workers (core.js).

// Decodes base64 texts that were cut at multiples of three bytes.
function from_base64(text) {
    if (Uint8Array.fromBase64)
        return Uint8Array.fromBase64(text);
    const binary = atob(text), bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    return bytes;
}

// Unpacks base64 texts that contain one gzip stream: an array of byte arrays, and their size.
async function unpack(texts) {
    const packed = new ReadableStream({
        start(controller) {
            for (const text of texts)
                controller.enqueue(from_base64(text));
            controller.close();
        },
    });
    const reader = packed.pipeThrough(new DecompressionStream("gzip")).getReader();
    const parts = [];
    let size = 0;
    for (;;) {
        const {done, value} = await reader.read();
        if (done)
            return {parts, size};
        parts.push(value);
        size += value.length;
    }
}

function join_bytes({parts, size}) {
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
    }
    return bytes;
}

const WASI_BADF = 8, WASI_SPIPE = 70;

export class Engine {
    // core: texts of base64 (gzip, WebAssembly); files: [{name, texts}].
    constructor(core, files) {
        this.core = core;
        this.files = files;
        this.instance = null;
        this.printed = {1: [], 2: []};
    }

    async start() {
        // Recordings are unpacked while the commands are compiled.
        const unpacked = this.files.map(({texts}) => unpack(texts));
        for (const promise of unpacked)
            promise.catch(() => 0); // reported below
        this.module ||= await WebAssembly.compile(join_bytes(await unpack(this.core)));
        this.instance = await WebAssembly.instantiate(this.module, this.imports());
        if (this.instance.exports._initialize)
            this.instance.exports._initialize();
        for (let i = 0; i < this.files.length; i++)
            this.open(this.files[i].name, await unpacked[i]);
    }

    get memory() {
        return this.instance.exports.memory.buffer;
    }

    open(name, {parts, size}) {
        const {core_alloc, core_free, core_open} = this.instance.exports;
        const at = core_alloc(size) >>> 0, called = this.put(name + "\0");
        if (!at)
            throw new Error("the recording does not fit into a page; use tidemark view --serve");
        let end = at;
        for (const part of parts) {
            new Uint8Array(this.memory).set(part, end);
            end += part.length;
        }
        this.printed = {1: [], 2: []};
        const status = core_open(called, at, size);
        core_free(at);
        core_free(called);
        if (status)
            throw new Error(this.text(2));
    }

    put(text) {
        const bytes = new TextEncoder().encode(text);
        const at = this.instance.exports.core_alloc(bytes.length) >>> 0;
        new Uint8Array(this.memory).set(bytes, at);
        this.put_size = bytes.length;
        return at;
    }

    text(fd) {
        const parts = this.printed[fd];
        return new TextDecoder().decode(join_bytes({parts, size: parts.reduce((n, p) => n + p.length, 0)}));
    }

    // Runs a command: {status, out, err}. A command that crashes destroys its memory, so the engine starts anew.
    async run(words) {
        if (!this.instance)
            await this.start();
        this.printed = {1: [], 2: []};
        try {
            const at = this.put(words.join("\0") + "\0");
            const status = this.instance.exports.core_run(at, this.put_size);
            this.instance.exports.core_free(at);
            return {status, out: this.text(1), err: this.text(2)};
        } catch (e) {
            this.instance = null;
            return {status: 1, out: "", err: this.text(2) || `this is too much for a page (${e.message}); `
                    + "use tidemark view --serve, or the command itself"};
        }
    }

    // Computes what the next questions have in common, while the reader looks at the first screen.
    prepare() {
        for (const {name} of this.instance ? this.files : []) {
            const at = this.put(name + "\0");
            this.instance.exports.core_prepare(at);
            this.instance.exports.core_free(at);
        }
        return {status: 0, out: "", err: ""};
    }

    imports() {
        const known = {
            fd_write: (fd, vectors, count, written) => {
                const view = new DataView(this.memory);
                let size = 0;
                for (let i = 0; i < count; i++) {
                    const at = view.getUint32(vectors + 8 * i, true);
                    const length = view.getUint32(vectors + 8 * i + 4, true);
                    this.printed[fd]?.push(new Uint8Array(this.memory.slice(at, at + length)));
                    size += length;
                }
                view.setUint32(written, size, true);
                return 0;
            },
            fd_fdstat_get: (fd, at) => {
                new Uint8Array(this.memory).fill(0, at, at + 24);
                new DataView(this.memory).setUint8(at, 2); // a character device, as stdout may be
                return fd > 2 ? WASI_BADF : 0;
            },
            fd_seek: () => WASI_SPIPE,
            fd_close: () => 0,
            environ_get: () => 0,
            environ_sizes_get: (count, size) => {
                const view = new DataView(this.memory);
                view.setUint32(count, 0, true);
                view.setUint32(size, 0, true);
                return 0;
            },
            clock_time_get: (clock, precision, at) => {
                new DataView(this.memory).setBigUint64(at, BigInt(Date.now()) * 1000000n, true);
                return 0;
            },
            proc_exit: (status) => {
                throw new Error(`it ended with ${status}`);
            },
        };
        const others = {get: (table, name) => table[name] || (() => WASI_BADF)};
        return {wasi_snapshot_preview1: new Proxy(known, others)};
    }
}
