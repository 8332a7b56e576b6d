import { expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { type SigningKey, signingKey } from "../../../src/lib/signing-key";
import { checkpointText, parseCheckpoint } from "../../../src/wire/witness/checkpoint";
import { emptyRoot } from "../../../src/wire/witness/merkle";
import {
  COSIGNATURE,
  cosignNote,
  formatVerifierKey,
  noteOf,
  parseNote,
  parseVerifierKey,
  SIGNATURE,
  signNote,
  verifiedBy,
  verifierKey,
} from "../../../src/wire/witness/signed-note";

function newKey(): SigningKey {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const key = signingKey(pem);
  if (!key) throw new Error("no key");
  return key;
}

/** The example of https://c2sp.org/signed-note. */
const EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const EXAMPLE_NOTE = `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`;

/** The example of https://c2sp.org/tlog-cosignature; its keys are not known. */
const EXAMPLE_CHECKPOINT = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`;

test("the example of the specification verifies, and its key has the same text again", () => {
  const key = parseVerifierKey(EXAMPLE_KEY);
  expect(formatVerifierKey(key)).toBe(EXAMPLE_KEY);
  expect(verifiedBy(parseNote(EXAMPLE_NOTE), key)).toEqual({ name: "example.com/foo", time: null });
  expect(() => verifiedBy(parseNote(EXAMPLE_NOTE.replace("This", "That")), key)).toThrow(
    "the signature of example.com/foo is not that of this note",
  );
});

test("the example of a checkpoint is read, with the time of its cosignature", () => {
  const note = parseNote(EXAMPLE_CHECKPOINT);
  const { origin, size, root } = parseCheckpoint(note.text);
  expect([origin, size]).toEqual(["example.com/behind-the-sofa", 20852163]);
  expect(checkpointText({ origin, size, root })).toBe(note.text);
  expect(note.signatures.map(({ name, id }) => [name, id])).toEqual([
    ["example.com/behind-the-sofa", "033de0ae"],
    ["witness.example.com/w1", "8d66cf3f"],
  ]);
  expect(
    noteOf(
      note.text,
      note.signatures.map(({ line }) => line),
    ),
  ).toBe(EXAMPLE_CHECKPOINT);
});

test("a log signs and a witness cosigns; each is verified by its own key alone", () => {
  const [log, witness] = [newKey(), newKey()];
  const text = checkpointText({ origin: "svc.host/0123", size: 0, root: emptyRoot() });
  const lines = [
    signNote(text, "svc.host/0123", log),
    cosignNote(text, "svc.witness/1", witness, 1_679_315_147),
  ];
  const note = parseNote(noteOf(text, lines));
  const keyOf = (name: string, type: 1 | 4, key: SigningKey) => verifierKey(name, type, key.publicKey);
  expect(verifiedBy(note, keyOf("svc.host/0123", SIGNATURE, log))).toEqual({
    name: "svc.host/0123",
    time: null,
  });
  expect(verifiedBy(note, keyOf("svc.witness/1", COSIGNATURE, witness))).toEqual({
    name: "svc.witness/1",
    time: 1_679_315_147,
  });
  expect(verifiedBy(note, keyOf("svc.witness/1", SIGNATURE, witness))).toBeUndefined();
  expect(verifiedBy(note, keyOf("svc.witness/2", COSIGNATURE, witness))).toBeUndefined();
  expect(verifiedBy(note, keyOf("svc.host/0123", SIGNATURE, witness))).toBeUndefined();
});

test("the latest of several cosignatures of a witness counts, and none may be wrong", () => {
  const witness = newKey();
  const text = checkpointText({ origin: "log", size: 0, root: emptyRoot() });
  const key = verifierKey("w", COSIGNATURE, witness.publicKey);
  const lines = [5, 9, 7].map((time) => cosignNote(text, "w", witness, time));
  expect(verifiedBy(parseNote(noteOf(text, lines)), key)?.time).toBe(9);
  const other = cosignNote(text.replace("log", "gol"), "w", witness, 3);
  expect(() => verifiedBy(parseNote(noteOf(text, [...lines, other])), key)).toThrow("signature of w");
});

test("what is no signed note, checkpoint or key is refused by name", () => {
  const line = "— a/b Uw2QOkn8srV1\n";
  for (const bad of [
    "",
    "text\n",
    `text\n${line}`,
    "text\n\n",
    `text\n\n${line}tail`,
    "text\n\n— a+b Uw2QOkn8srV1\n",
    "text\n\n— a/b Uw2QOkn8srV\n",
    "text\n\n— a/b Uw2QOg==\n",
    "text\n\n- a/b Uw2QOkn8srV1\n",
    `te\tt\n\n${line}`,
    `te\r\n\n${line}`,
    `\ud800\n\n${line}`,
    `text\n\n${line.repeat(65)}`,
  ])
    expect(() => parseNote(bad)).toThrow("note: expected");
  const root = EXAMPLE_CHECKPOINT.split("\n")[2];
  for (const bad of [
    `a\n01\n${root}\n`,
    `a\n-1\n${root}\n`,
    `\n1\n${root}\n`,
    "a\n1\nAAAA\n",
    `a\n1\n${root}`,
    `a\n1\n${root}\n\n`,
    `a\n9007199254740993\n${root}\n`,
  ])
    expect(() => parseCheckpoint(bad)).toThrow("checkpoint: expected");
  expect(parseCheckpoint(`a b\n1\n${root}\nextension\n`).size).toBe(1);
  for (const bad of [
    "",
    "a+b",
    EXAMPLE_KEY.slice(0, -1),
    EXAMPLE_KEY.replace("530d903a", "530d903b"),
    EXAMPLE_KEY.replace("+AekyeR", "+BekyeR"),
  ])
    expect(() => parseVerifierKey(bad)).toThrow("key: expected");
  expect(() => verifierKey("a b", SIGNATURE, newKey().publicKey)).toThrow("without spaces");
});

test("any text parses to a note that has the same text again, or is refused", () => {
  const part = fc.constantFrom("— a/b Uw2QOkn8srV1\n", "\n", "text", "\u2028", "—", " ", "é", "\u0000");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const note = parts.join("");
      try {
        const { text, signatures } = parseNote(note);
        expect(
          noteOf(
            text,
            signatures.map(({ line }) => line),
          ),
        ).toBe(note);
      } catch (error) {
        expect(String(error)).toContain("note: expected");
      }
    }),
  );
});
