// What the page says of how a recording was made.
import assert from "node:assert/strict";
import test from "node:test";
import {estimate_text, origin_of, outliers_text, spread_text} from "./how_recorded.js";

test("an ordinary recording has nothing to say", () => {
    assert.deepEqual(origin_of({duration_ns: 1}), []);
});

test("sampled", () => {
    assert.deepEqual(origin_of({sampled: {bytes: 524288}}), [["sampled", "one allocation per 512.0 KiB; figures are estimates"]]);
    assert.equal(estimate_text(1024, 3072), "1.0 KiB to 3.0 KiB");
    assert.equal(estimate_text(null, null), "interval not known");
});

test("attached", () => {
    const known = {before_known: true, before_bytes: 2048, before_blocks: 1, before_frees: 2};
    assert.deepEqual(origin_of({attached: known}),
        [["attached", "2.0 KiB in 1 block were in use before the attach; 2 frees of such blocks since; their types and whether something points to them are not known; not in these figures"]]);
    const reach = {blocks: 1300, bytes: 9999, lost_blocks: 1200, lost_bytes: 1024};
    assert.deepEqual(origin_of({attached: {...known, before_reachability: reach}}),
        [["attached", "2.0 KiB in 1 block were in use before the attach; 2 frees of such blocks since; in the end nothing pointed to 1,200 of the 1,300 blocks that were left (1.0 KiB); their types are not known; not in these figures"]]);
    assert.deepEqual(origin_of({attached: {...known, before_reachability: {...reach, lost_blocks: 0, lost_bytes: 0}}}),
        [["attached", "2.0 KiB in 1 block were in use before the attach; 2 frees of such blocks since; in the end something pointed to each of the 1,300 blocks that were left; their types are not known; not in these figures"]]);
    const unknown = {before_known: false, before_unknown: "what was allocated before the attach was not counted", before_frees: 0};
    assert.deepEqual(origin_of({attached: unknown}),
        [["attached", "what was allocated before the attach was not counted; 0 frees of such blocks since; their types and whether something points to them are not known; not in these figures"]]);
});

test("merged", () => {
    const merged = {inputs: 3, hosts: 1, ranks: true, killed: 1, failed: 0, incomplete: 2};
    assert.deepEqual(origin_of({merged, duration_ns: 2e9}),
        [["merged", "3 ranks on 1 host; the longest ran for 2.000 s; 1 input killed by a signal; 2 inputs incomplete"]]);
    assert.equal(spread_text({min_bytes: 0, max_bytes: 2048, max_input: "rank 2", mean_bytes: 1024}, 3, "bytes"),
        "0 B to 2.0 KiB (rank 2), mean 1.0 KiB over 3 inputs");
    assert.equal(spread_text({min_bytes: 5, max_bytes: 5, max_input: "rank 0", mean_bytes: 5}, 2, "bytes"), "5 B in each of 2 inputs");
    assert.equal(spread_text(null, 2, "bytes"), "how it is spread over the inputs is not kept for this question");
});

test("outliers", () => {
    assert.equal(outliers_text({outliers: [], median_bytes: 1}, "bytes"), "");
    const outliers = ["a", "b", "c", "d"].map((input, i) => ({input, bytes: 4096 - i}));
    assert.equal(outliers_text({outliers, median_bytes: 1024}, "bytes", 2), "a: 4.0 KiB; b: 4.0 KiB; 2 more; half of all have at most 1.0 KiB");
});

test("imported", () => {
    const imported = {from: "massif", file: "massif.out.1", not_known: ["threads", "usable sizes"]};
    assert.deepEqual(origin_of({imported}), [["imported", "from massif (massif.out.1); not known: threads, usable sizes"]]);
});
