// flame_layout: where the boxes of a flame graph are on the screen. It does not draw. The answer of `flame --json` has
// one array per column, depth first. A Layout adds to each box its parent, where its subtree ends, and a number that
// identifies its path, so that a zoom can be part of the address.

export function hash_text(text, hash) {
    for (let i = 0; i < text.length; i++)
        hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    return hash;
}

export class Layout {
    constructor(answer) {
        const n = answer.boxes;
        this.answer = answer;
        this.count = n;
        this.depth = Uint32Array.from(answer.depth);
        this.start = Float64Array.from(answer.start);
        this.width = Float64Array.from(answer.width);
        this.parent = new Uint32Array(n);
        this.end = new Uint32Array(n); // first box after the subtree
        this.path = new Uint32Array(n);
        this.deepest = 0;
        const open = [], hashes = answer.names.map((name) => hash_text(name, 0x811c9dc5 | 0) >>> 0);
        for (let i = 0; i < n; i++) {
            const depth = this.depth[i];
            while (open.length > depth)
                this.end[open.pop()] = i;
            this.parent[i] = open.length ? open[open.length - 1] : 0;
            const up = i ? this.path[this.parent[i]] : 0;
            this.path[i] =
                i ? Math.imul(up ^ hashes[answer.name[i]], 16777619) ^ Math.imul(hashes[answer.place[i]], 31) : 1;
            open.push(i);
            this.deepest = Math.max(this.deepest, depth);
        }
        while (open.length)
            this.end[open.pop()] = n;
    }

    name(i) {
        return i ? this.answer.names[this.answer.name[i]] : "all";
    }

    place(i) {
        return this.answer.names[this.answer.place[i]];
    }

    module(i) {
        return this.answer.names[this.answer.module[i]];
    }

    kind(i) {
        return this.answer.kinds[this.answer.kind[i]];
    }

    path_name(i) {
        return i ? this.path[i].toString(16) : "";
    }

    // The box of a path's name; 0, the whole, if there is none.
    find_path(name) {
        const wanted = parseInt(name, 16);
        for (let i = 1; name && i < this.count; i++) {
            if (this.path[i] === wanted)
                return i;
        }
        return 0;
    }

    // Boxes that are at least a pixel wide, between two rows, as [{i, x, width, row}]; the box `zoom` and its callers
    // are as wide as the picture.
    visible(zoom, width, first_row, last_row, least = 1) {
        const found = [], scale = this.width[zoom] ? width / this.width[zoom] : 0, left = this.start[zoom];
        const callers = [];
        for (let i = zoom; i; i = this.parent[i])
            callers.push(this.parent[i]);
        for (const i of callers.reverse()) {
            if (this.depth[i] >= first_row && this.depth[i] <= last_row)
                found.push({i, x: 0, width, row: this.depth[i]});
        }
        for (let i = zoom; i < this.end[zoom];) {
            const wide = this.width[i] * scale, row = this.depth[i];
            if ((wide < least && i !== zoom) || row > last_row) {
                i = this.end[i];
                continue;
            }
            if (row >= first_row)
                found.push({i, x: (this.start[i] - left) * scale, width: wide, row});
            i++;
        }
        return found;
    }
}

// The box under a point, of those that `visible` returned.
export function box_at(boxes, x, row) {
    return boxes.find((box) => box.row === row && x >= box.x && x < box.x + box.width) || null;
}

// The boxes of a layout whose names match, only the outermost of nested ones: their widths add up.
export function matched_boxes(layout, test) {
    const hit = new Uint8Array(layout.count);
    if (test) {
        const names = layout.answer.names.map((name) => test(name));
        for (let i = 1; i < layout.count; i++)
            hit[i] = names[layout.answer.name[i]] ? 1 : 0;
    }
    return hit;
}
