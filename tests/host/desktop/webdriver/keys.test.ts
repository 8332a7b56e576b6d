/** Texts of Element Send Keys as keys. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { isKey } from "../../../../src/host/desktop/keys";
import { isTyped, keyOf, NULL_KEY, piecesOf } from "../../../../src/host/desktop/webdriver/keys";

test("a modifier is held until the null key, and characters are keys meanwhile", () => {
  expect(piecesOf(`x\ue008ab${NULL_KEY}c`)).toEqual([
    { text: "x" },
    { hold: "shift" },
    { tap: "a" },
    { tap: "b" },
    { release: "shift" },
    { text: "c" },
  ]);
});

test("a modifier that comes again is let go, and what is held at the end too", () => {
  expect(piecesOf("\ue009a\ue009b\ue00ac")).toEqual([
    { hold: "ctrl" },
    { tap: "a" },
    { release: "ctrl" },
    { text: "b" },
    { hold: "alt" },
    { tap: "c" },
    { release: "alt" },
  ]);
});

test("every key of the standard is one that svc has", () => {
  for (let code = 0xe002; code <= 0xe05d; code++) {
    const key = keyOf(String.fromCharCode(code));
    if (key !== String.fromCharCode(code)) expect([key, isKey(key)]).toEqual([key, true]);
  }
});

test("whatever is held is let go, each once", () => {
  const character = fc.constantFrom("a", "ß", "\ue008", "\ue009", "\ue00a", "\ue003", NULL_KEY);
  fc.assert(
    fc.property(fc.array(character), (characters) => {
      const held: string[] = [];
      for (const piece of piecesOf(characters.join(""))) {
        if ("hold" in piece) {
          expect(held).not.toContain(piece.hold);
          held.push(piece.hold);
        } else if ("release" in piece) {
          expect(held).toContain(piece.release);
          held.splice(held.indexOf(piece.release), 1);
        } else if ("text" in piece) expect(held).toEqual([]);
      }
      expect(held).toEqual([]);
    }),
  );
});

test("a character that may need Shift is typed and holds nothing, but for one beside a modifier", () => {
  expect(["U", "!", "ü", "-"].map((character) => isTyped(character, []))).toEqual([true, true, true, true]);
  expect(["u", "7", " ", "\ue008", "\ue004"].some((character) => isTyped(character, []))).toBe(false);
  expect(isTyped("U", ["ctrl"])).toBe(false);
  expect(isTyped("U", ["a"])).toBe(true);
});
