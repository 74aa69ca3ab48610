import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../json.js";

test("integers that a number holds are numbers, and others bigints", () => {
  assert.deepEqual(parse("[9007199254740991,-9007199254740991]"), [9007199254740991, -9007199254740991]);
  assert.deepEqual(parse('{"a":9007199254740993,"b":[-9223372036854775808]}'), {
    a: 9007199254740993n,
    b: [-9223372036854775808n],
  });
});

test("fractions and exponents are numbers, however long", () => {
  const [fraction, exponent, integer] = parse("[12345678901234567890.5,12345678901234567890e2,1234567890123456789]");
  assert.equal(fraction, Number("12345678901234567890.5"));
  assert.equal(exponent, Number("12345678901234567890e2"));
  assert.equal(integer, 1234567890123456789n);
});

test("texts that look like integers or like the mark stay texts", () => {
  const texts = ["1234567890123456789", "#1234567890123456789", "##", '"#12', "\\"];
  assert.deepEqual(parse(JSON.stringify({ texts, number: 0 }).replace("0}", "1234567890123456789}")), {
    texts,
    number: 1234567890123456789n,
  });
});

test("a text that is no JSON is refused", () => {
  assert.throws(() => parse("[1234567890123456789"), SyntaxError);
});
