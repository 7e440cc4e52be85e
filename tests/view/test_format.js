// Numbers and names as the command line writes them.
import assert from "node:assert/strict";
import test from "node:test";
import {bytes, command_text, count, counted, fixed, ms, pattern_of, percent, place_of, shorten, time, told_name} from "./format.js";

test("a tie goes to the even digit, as printf does", () => {
    assert.equal(fixed(1.25, 1), "1.2");
    assert.equal(fixed(1.75, 1), "1.8");
    assert.equal(fixed(0.05, 1), "0.1"); // 0.05 is a little more than that
    assert.equal(fixed(2.5, 0), "2");
    assert.equal(fixed(-1.25, 1), "-1.2");
    assert.equal(fixed(12.345, 3), "12.345");
});

test("bytes", () => {
    const texts = {0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1280: "1.2 KiB", 1792: "1.8 KiB", 1048524: "1023.9 KiB", 1048525: "1.0 MiB",
        16777216: "16.0 MiB", 1099511627776: "1.0 TiB", "-3145728": "-3.0 MiB", "-5": "-5 B"};
    for (const [n, text] of Object.entries(texts))
        assert.equal(bytes(Number(n)), text);
    assert.equal(bytes(null), "");
});

test("counts", () => {
    assert.deepEqual([0, 999, 1000, 1234567, -1234567].map(count), ["0", "999", "1,000", "1,234,567", "-1,234,567"]);
    assert.deepEqual([counted(1, "block"), counted(2, "block"), counted(2, "process")], ["1 block", "2 blocks", "2 processes"]);
});

test("times", () => {
    assert.deepEqual([0, 1500, 3200000, 12345000000, 123000000000, 7260000000000].map(time),
        ["0 s", "1.5 us", "3.2 ms", "12.345 s", "2 min 3 s", "2 h 1 min"]);
    assert.deepEqual([0, 49999, 50000, 1234500000, -50000, -1].map(ms), ["0.0 ms", "0.0 ms", "0.1 ms", "1,234.5 ms", "-0.1 ms", "0.0 ms"]);
});

test("shares", () => {
    assert.equal(percent(1, 3), "33.3");
    assert.equal(percent(1, 0), "-");
});

test("names", () => {
    assert.equal(shorten("abcdefghij", 7), "abcd…ij");
    assert.equal(shorten("abc", 7), "abc");
    assert.equal(place_of({file: "/a/b.c", line: 3, module: "x"}), "b.c:3");
    assert.equal(place_of({file: null, line: null, module: "libc.so.6"}), "libc.so.6");
});

test("a pattern of a name matches that name alone", () => {
    const name = "std::vector<int*, A(B)[3]>::f{lambda()#1}.x+?|^$\\";
    assert.ok(new RegExp(pattern_of(name)).test(name));
    assert.ok(!new RegExp(pattern_of("a.c")).test("abc"));
});

test("a command can be pasted into a shell", () => {
    assert.equal(command_text(["tidemark", "report", "a b.tide", "--at", "event#3", "--within", "it's $HOME"]),
        "tidemark report 'a b.tide' --at event#3 --within 'it'\\''s $HOME'");
});

test("a name that fills all that is recorded was cut", () => {
    assert.equal(told_name("main"), "main");
    assert.equal(told_name("n".repeat(4092)), "n".repeat(4092));
    assert.equal(told_name("n".repeat(4096)), "n".repeat(4096) + "… (names are cut after 4,096 bytes)");
    assert.equal(told_name("ü".repeat(2048)), "ü".repeat(2048) + "… (names are cut after 4,096 bytes)");
    assert.equal(told_name("n".repeat(5000)), "n".repeat(5000)); // of other languages all is known
});
