// The state in the address, and the words of the command.
import assert from "node:assert/strict";
import test from "node:test";
import {DEFAULTS, from_hash, to_hash} from "./state.js";
import {count_text, IMPORT_SYSTEM, metric_of, question_text, words_of} from "./command_words.js";

test("the address holds what differs from the defaults, and gives it back", () => {
    assert.equal(to_hash(DEFAULTS), "");
    const state = {...DEFAULTS, view: "flame", metric: "peak", since: "event#3", mode: "difference", within: ["a&b=c", "<i>%20"], search: "x#y"};
    assert.deepEqual(from_hash(to_hash(state)), state);
    assert.deepEqual(from_hash(""), DEFAULTS);
});

test("an address that is not ours does no harm", () => {
    assert.deepEqual(from_hash("#view=table&nonsense=1&__proto__=x&constructor=y&%&search=%E0%A4%A"), {...DEFAULTS, view: "table"});
});

test("words of report", () => {
    assert.deepEqual(words_of("report", DEFAULTS), ["report"]);
    const state = {...DEFAULTS, metric: "peak", size: "usable", by: "line", at: "50%", process: "12#2", within: ["a", "b"], ignore: ["c"], fold: ["d"],
        thread: "main", language: "python"};
    assert.deepEqual(words_of("report", state, ["--json"]), ["report", "--metric", "peak", "--size", "usable", "--by", "line", "--at", "50%", "--process", "12#2",
        "--within", "a", "--within", "b", "--ignore", "c", "--fold", "d", "--thread", "main", "--python-only", "--json"]);
});

test("a moment, a difference, a sum in a window", () => {
    const state = {...DEFAULTS, since: "event#2", at: "event#5"};
    assert.deepEqual(words_of("report", state), ["report", "--at", "event#5"]);
    assert.deepEqual(words_of("report", {...state, mode: "difference"}), ["report", "--since", "event#2", "--at", "event#5"]);
    assert.deepEqual(words_of("report", {...state, mode: "total"}), ["report", "--metric", "total", "--since", "event#2", "--at", "event#5"]);
    assert.equal(metric_of({...state, mode: "total", metric: "cpu"}), "cpu");
    assert.deepEqual(words_of("report", {...DEFAULTS, mode: "difference"}), ["report", "--since", "start"]);
});

test("a command gets only what it takes", () => {
    const state = {...DEFAULTS, metric: "peak", by: "line", since: "1s", at: "2s", mode: "difference", within: ["a"], process: "3", imports: "hidden"};
    assert.deepEqual(words_of("marks", state), ["marks", "--process", "3"]);
    assert.deepEqual(words_of("maps", state), ["maps", "--since", "1s", "--at", "2s", "--process", "3"]);
    assert.deepEqual(words_of("growth", state), ["growth", "--process", "3", "--within", "a", "--fold", IMPORT_SYSTEM]);
    assert.deepEqual(words_of("leaks", state), ["leaks", "--since", "1s", "--process", "3", "--within", "a", "--fold", IMPORT_SYSTEM]);
});

test("the import system's pattern is for its frames alone", () => {
    const pattern = new RegExp(IMPORT_SYSTEM);
    assert.ok(["_find_and_load", "FrozenImporter.exec_module", "SourceFileLoader.get_data"].every((name) => pattern.test(name)));
    assert.ok(!["main", "my_find_and_load", "Loader.exec_module"].some((name) => pattern.test(name)));
});

test("the question in words", () => {
    assert.equal(question_text(DEFAULTS, {metric: "live"}), "live bytes at end");
    assert.equal(question_text({...DEFAULTS, mode: "difference", since: "a#1"}, {metric: "live"}), "change of live bytes from a#1 to end");
    assert.equal(question_text({...DEFAULTS, mode: "total", since: "a#1", at: "a#2"}, {metric: "total"}), "bytes allocated from a#1 to a#2");
});

test("how many, in the metric's own word", () => {
    assert.equal(count_text(1, "live"), "1 block");
    assert.equal(count_text(0, "total"), "0 calls");
    assert.equal(count_text(1234, "cpu"), "1,234 samples");
    assert.equal(count_text(1, "faults"), "1 fault");
});
