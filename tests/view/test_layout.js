// Flame boxes, moments, tables, trees, charts: what is drawn, without a screen.
import assert from "node:assert/strict";
import test from "node:test";
import {ticks, thin_points} from "./chart.js";
import {Layout, box_at, matched_boxes} from "./flame_layout.js";
import {growth_line_points} from "./growth_line.js";
import {named_moments, neighbour, ribbon_runs, time_of, word_at} from "./moments.js";
import {process_rows} from "./process_list.js";
import {csv_of} from "./save.js";
import {rows_matching} from "./search.js";
import {sorted_rows} from "./table.js";

// all(100): main(90): f(60): g(30), f2(20); other(10)
const answer = {boxes: 6, depth: [0, 1, 2, 3, 2, 1], start: [0, 0, 0, 0, 60, 90], width: [100, 90, 60, 30, 20, 10], name: [0, 1, 2, 3, 2, 4],
    place: [0, 0, 5, 0, 0, 0], module: [0, 0, 0, 0, 0, 0], kind: [1, 0, 0, 0, 0, 0], kinds: ["native", "other"],
    now: [100, 90, 60, 30, 20, 10], self: [0, 10, 30, 30, 20, 10], names: ["", "main", "f", "g", "other", "f.c:1"]};

test("boxes lie above their callers and begin where the answer says", () => {
    const layout = new Layout(answer), boxes = layout.visible(0, 200, 0, 9);
    assert.deepEqual(boxes.map(({i, x, width, row}) => [i, x, width, row]),
        [[0, 0, 200, 0], [1, 0, 180, 1], [2, 0, 120, 2], [3, 0, 60, 3], [4, 120, 40, 2], [5, 180, 20, 1]]);
    assert.equal(layout.deepest, 3);
    assert.equal(box_at(boxes, 125, 2).i, 4);
    assert.equal(box_at(boxes, 199, 2), null);
});

test("a zoomed box is as wide as the picture, and so are its callers", () => {
    const layout = new Layout(answer), boxes = layout.visible(2, 200, 0, 9);
    assert.deepEqual(boxes.map(({i, x, width}) => [i, x, width]), [[0, 0, 200], [1, 0, 200], [2, 0, 200], [3, 0, 100]]);
});

test("what is narrower than a pixel, or not on screen, is left out with all above it", () => {
    const layout = new Layout(answer);
    assert.deepEqual(layout.visible(0, 2, 0, 9).map(({i}) => i), [0, 1, 2]);
    assert.deepEqual(layout.visible(0, 200, 2, 2).map(({i}) => i), [2, 4]);
});

test("a path is found again by its name, and two functions of one name are apart", () => {
    const layout = new Layout(answer);
    for (let i = 0; i < 6; i++)
        assert.equal(layout.find_path(layout.path_name(i)), i);
    assert.equal(layout.find_path("no such"), 0);
});

test("deep stacks do not overflow", () => {
    const n = 100000, range = (f) => Array.from({length: n}, (_, i) => f(i));
    const deep = new Layout({boxes: n, depth: range((i) => i), start: range(() => 0), width: range(() => 5), name: range(() => 1), place: range(() => 0),
        module: range(() => 0), kind: range(() => 0), kinds: ["native"], now: range(() => 5), self: range(() => 0), names: ["", "f"]});
    assert.equal(deep.visible(0, 100, n - 3, n).length, 3);
});

test("matches", () => {
    assert.deepEqual([...matched_boxes(new Layout(answer), (name) => name === "f")], [0, 0, 1, 0, 1, 0]);
});

test("a point snaps to what is near, and peaks go first", () => {
    const moments = named_moments(1e9, 5e8, [{label: "event", index: 1, time_ns: 1e8}, {label: "event", index: 2, time_ns: 5e8}, {label: "", index: 0, time_ns: 2e8}], []);
    assert.deepEqual(moments.map((moment) => moment.word), ["start", "event#1", "peak", "event#2", "end"]);
    assert.equal(word_at(1.02e8, moments, 5e6), "event#1");
    assert.equal(word_at(5.01e8, moments, 5e6), "peak");
    assert.equal(word_at(3e8, moments, 1e6), "0.3000s");
    assert.equal(word_at(0, moments, 5e6), "start");
    assert.equal(time_of("0.3s", moments, 1e9), 3e8);
    assert.equal(time_of("50%", moments, 1e9), 5e8);
    assert.equal(time_of("nowhere#7", moments, 1e9), null);
    assert.equal(neighbour(1e8, moments, -1), "start");
    assert.equal(neighbour(6e8, moments, 1), "end");
    assert.equal(neighbour(1e9, moments, 1), null);
});

test("the ribbon of RSS has gaps where the RSS does not agree with it", () => {
    const prints = [{time_ns: 0, rss_bytes: 100}, {time_ns: 100, rss_bytes: 200}, {time_ns: 200, rss_bytes: 200}];
    assert.deepEqual(ribbon_runs(prints, [[50, 155], [150, 190]]), [prints]);
    assert.deepEqual(ribbon_runs(prints, [[50, 100], [150, 190]]), [[prints[0]], [prints[1], prints[2]]]);
    assert.deepEqual(ribbon_runs([], []), []);
});

test("a fit has its slope, and goes through the middle of what it is of", () => {
    assert.deepEqual(growth_line_points([[1, 50], [2, 10], [3, 12], [4, 14]], 1, 2), [[2, 10], [4, 14]]);
    assert.deepEqual(growth_line_points([[1, 5]], 0, 2), []);
});

test("tables", () => {
    const columns = [{key: "n", value: (row) => row.n}, {key: "name", left: true, value: (row) => row.name}];
    const rows = [{n: 1, name: "b"}, {n: 3, name: "a"}, {n: null, name: "c"}, {n: 2, name: "a"}];
    assert.deepEqual(sorted_rows(rows, columns, "-n").map((row) => row.n), [3, 2, 1, null]);
    assert.deepEqual(sorted_rows(rows, columns, "name").map((row) => row.n), [3, 2, 1, null]);
    assert.deepEqual(sorted_rows(rows, columns, ""), rows);
    assert.deepEqual(rows_matching(rows, columns, "^a").length, 2);
    assert.deepEqual(rows_matching(rows, columns, "(").length, 0);
});

test("CSV", () => {
    assert.equal(csv_of([["a", 'say "x"'], [1, "b,c\nd"], [null, "=1+1"]]), 'a,"say ""x"""\n1,"b,c\nd"\n,=1+1\n');
});

test("processes", () => {
    const rows = process_rows([{pid: 1, ppid: 0}, {pid: 3, ppid: 2}, {pid: 2, ppid: 1}, {pid: 2, ppid: 1}]);
    assert.deepEqual(rows.map(({word, depth}) => [word, depth]), [["1", 0], ["2#1", 1], ["3", 2], ["2#2", 1]]);
});

test("axes", () => {
    assert.deepEqual(ticks(0, 10, 5, false), [0, 2, 4, 6, 8, 10]);
    assert.deepEqual(ticks(0, 4 * 1048576, 4, true), [0, 1, 2, 3, 4].map((n) => n * 1048576));
});

test("thinning keeps the highest and the lowest", () => {
    const points = Array.from({length: 10000}, (_, i) => [i, i === 5003 ? 1000 : i === 7001 ? -5 : 1]);
    const kept = thin_points(points, 100).map(([, value]) => value);
    assert.ok(kept.length <= 410 && kept.includes(1000) && kept.includes(-5));
});
