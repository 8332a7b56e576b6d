/** What is read of an envelope before its signature is. */
import { expect, test } from "bun:test";
import { type Envelope, onlyMeaning, PAYLOAD_TYPE, payloadOf } from "../../../src/wire/receipt/dsse";

const holding = (json: string): Envelope => ({
  payloadType: PAYLOAD_TYPE,
  payload: Buffer.from(json).toString("base64"),
  signatures: [{ keyid: "x", sig: "x" }],
});

test("a payload of more values than whoever asks expects is refused before it is parsed", () => {
  const envelope = holding('{"a":[1,2,3]}');
  expect(payloadOf(envelope, 6)).toEqual({ a: [1, 2, 3] });
  expect(() => payloadOf(envelope, 5)).toThrow("expected a receipt of at most 5 values and names");
});

test("white space outside of texts means nothing, and whatever else is written otherwise is refused", () => {
  const value = { a: ["b \n\t c", 'd"\\', "\\"], "": [] };
  expect(onlyMeaning(JSON.stringify(value))).toEqual(value);
  expect(onlyMeaning(` ${JSON.stringify(value, null, 2)}\r\n\t`)).toEqual(value);
  for (const other of ['{"a":1,"a":1}', '{"a":1.0}', '["\\u0061"]', '{ "2":1, "1":1 }', "[1e2]"])
    expect(() => onlyMeaning(other)).toThrow("in its plain form");
});
