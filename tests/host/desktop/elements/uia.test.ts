/** UI Automation without Windows: what its properties say of an element, and objects of COM with tables of this process. */
import { JSCallback, type Pointer, ptr, read, toArrayBuffer } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import { roleOf } from "../../../../src/host/desktop/elements/roles";
import { STATE } from "../../../../src/host/desktop/elements/said";
import { ComFailure, faces, guid } from "../../../../src/host/desktop/elements/uia/com";
import { ASKED, factsOf, rectIn } from "../../../../src/host/desktop/elements/uia/facts";
import { AUTOMATION, PROPERTY } from "../../../../src/host/desktop/elements/uia/ids";
import { numberOf, typesOf } from "../../../../src/host/desktop/elements/uia/roles";
import { statesOf } from "../../../../src/host/desktop/elements/uia/states";
import {
  type OleAutomation,
  type Value,
  valueIn,
  withText,
  withVariant,
} from "../../../../src/host/desktop/elements/uia/values";
import { element, factsWith } from "./uia-support";

const ofType = (type: number, ...more: ReadonlyArray<readonly [number, Value]>) =>
  factsWith([PROPERTY.controlType, type], ...more);

describe("roles", () => {
  test("each kind of control has one, and a search for that looks at the kind", () => {
    for (let type = 50_000; type <= 50_040; type++) {
      const number = numberOf(ofType(type));
      expect([type, typesOf([number]).includes(type)]).toEqual([type, true]);
    }
  });

  test("are those of ARIA", () => {
    const roles = [50_000, 50_002, 50_004, 50_007, 50_011, 50_019, 50_023, 50_032].map((type) =>
      roleOf(numberOf(ofType(type))),
    );
    expect(roles).toEqual(["button", "checkbox", "textbox", "listitem", "menuitem", "tab", "tree", "window"]);
    expect(roleOf(numberOf(ofType(50_032, [PROPERTY.className, "#32770"])))).toBe("dialog");
    expect(roleOf(numberOf(ofType(50_020, [PROPERTY.ariaRole, "heading"])))).toBe("heading");
    expect(typesOf([83])).toEqual([50_020]);
  });
});

describe("a secret field", () => {
  test("has the role of one, and its text is not asked for", () => {
    const { face, asked } = element(
      new Map<number, Value>([
        [PROPERTY.controlType, 50_004],
        [PROPERTY.isPassword, true],
        [PROPERTY.framework, "Win32"],
        [PROPERTY.name, "hunter2"],
      ]),
    );
    const seen = factsOf(face);
    expect([numberOf(seen), seen.name]).toEqual([40, ""]);
    // Value, LegacyIAccessible's value.
    for (const property of [30_045, 30_093]) expect([asked, ASKED].flat()).not.toContain(property);
  });

  test("of a page has the name that the page gives it", () => {
    const seen = factsWith(
      [PROPERTY.isPassword, true],
      [PROPERTY.framework, "Chrome"],
      [PROPERTY.name, "Password"],
    );
    expect(seen.name).toBe("Password");
  });
});

test("states are told by the properties of patterns that an element has", () => {
  const has = statesOf(ofType(50_002, [PROPERTY.hasToggle, true], [PROPERTY.toggleState, 1]), false);
  const told = [STATE.checked, STATE.enabled, STATE.showing, STATE.expandable].map((state) => has(state));
  expect(told).toEqual([true, true, false, false]);
});

test("places are left, top, width and height", () => {
  expect(rectIn([10, 20, 30, 40])).toEqual({ x: 10, y: 20, width: 30, height: 40 });
  expect(rectIn([0, 0, 0, 0])).toBeUndefined();
  expect(rectIn(undefined)).toBeUndefined();
});

test("the first three parts of a GUID are little-endian", () => {
  expect(Buffer.from(guid(AUTOMATION.iid)).toString("hex")).toBe("7de5cb30d0d92a45ab137ac5ac4825ee");
});

/** Texts and arrays as oleaut32.dll lays them out, and those that were not let go. */
function memory() {
  const held = new Map<number, readonly unknown[]>();
  const hold = (at: Pointer, ...parts: readonly unknown[]) => {
    held.set(at, parts);
    return at;
  };
  const ole: OleAutomation & { VariantClear(variant: BigUint64Array): number } = {
    SysAllocStringLen(units, count) {
      const bytes = new Uint8Array(4 + 2 * count + 2);
      new DataView(bytes.buffer).setUint32(0, 2 * count, true);
      bytes.set(new Uint8Array(units.buffer, units.byteOffset, 2 * count), 4);
      return hold(ptr(bytes, 4), bytes);
    },
    SysStringLen: (bstr) => read.u32((Number(bstr) - 4) as Pointer, 0) / 2,
    SysFreeString: (bstr) => void held.delete(Number(bstr)),
    SafeArrayCreateVector(_kind, _lowest, count) {
      const data = new Uint8Array(4 * count);
      const head = new DataView(new ArrayBuffer(32));
      head.setUint16(0, 1, true);
      head.setUint32(4, 4, true);
      head.setBigUint64(16, BigInt(ptr(data)), true);
      head.setUint32(24, count, true);
      return hold(ptr(head), head, data);
    },
    SafeArrayDestroy: (array) => Number(held.delete(Number(array))),
    VariantClear: ([, value]) => Number(held.delete(Number(value))),
  };
  return { ole, held };
}

describe("values", () => {
  test("a VARIANT of a whole number, and of some, is read as it was written, and let go", () => {
    const { ole, held } = memory();
    for (const value of [50_000, -1, [42, 66_052, 4]])
      withVariant(ole, value, (variant) => {
        expect(variant.byteLength).toBe(24);
        expect(valueIn(ole, new DataView(variant.buffer), 10)).toEqual(value);
      });
    expect(held.size).toBe(0);
  });

  test("a text has its length before it, and is cut at the most characters", () => {
    const { ole, held } = memory();
    for (const text of ["Größe 😀", "", "a\0b"])
      withText(ole, text, (bstr) => {
        const variant = new DataView(new ArrayBuffer(24));
        variant.setUint16(0, 8, true);
        variant.setBigUint64(8, BigInt(bstr), true);
        expect([valueIn(ole, variant, 100), valueIn(ole, variant, 2)]).toEqual([text, text.slice(0, 2)]);
      });
    expect(held.size).toBe(0);
  });

  test("what is of no kind that is known is nothing", () => {
    const variant = new DataView(new ArrayBuffer(24));
    variant.setUint16(0, 13, true);
    variant.setBigUint64(8, 1n, true);
    expect(valueIn(memory().ole, variant, 10)).toBeUndefined();
  });
});

/** An object whose methods are these functions, by their numbers. */
function objectOf(methods: Readonly<Record<number, JSCallback>>) {
  const table = new BigUint64Array(8);
  for (const [index, { ptr: at }] of Object.entries(methods)) table[Number(index)] = BigInt(at ?? 0);
  const self = new BigUint64Array([BigInt(ptr(table))]);
  const { ole, held } = memory();
  return { face: faces(ole)(ptr(self)), ole, held, self, table };
}

const ELEMENT_GONE = 0x8004_0201;

describe("an object of COM", () => {
  test("is called by the number of a method, and let go once", () => {
    let released = 0;
    const seen: number[] = [];
    const release = new JSCallback(() => ++released, { args: ["ptr"], returns: "u32" });
    const scale = new JSCallback(
      (_self: number, whole: number, real: number) => {
        seen.push(whole, real);
        return 0;
      },
      { args: ["ptr", "i32", "f64"], returns: "i32" },
    );
    const count = new JSCallback(
      (_self: number, out: Pointer) => {
        new Int32Array(toArrayBuffer(out, 0, 4))[0] = -7;
        return 0;
      },
      { args: ["ptr", "ptr"], returns: "i32" },
    );
    const made = objectOf({ 2: release, 3: scale, 4: count });
    {
      using face = made.face;
      face.call(3, ["i32", "f64"], -5, 64.5);
      expect(face.whole(4)).toBe(-7);
    }
    expect([seen, released, made.self.length, made.table.length]).toEqual([[-5, 64.5], 1, 1, 8]);
    for (const one of [release, scale, count]) one.close();
  });

  test("fails with what a method answered", () => {
    const gone = new JSCallback(() => ELEMENT_GONE | 0, { args: ["ptr", "ptr"], returns: "i32" });
    const made = objectOf({ 3: gone });
    expect(() => made.face.object(3)).toThrow(new ComFailure(ELEMENT_GONE, "method 3"));
    expect([made.self.length, made.table.length]).toEqual([1, 8]);
    gone.close();
  });

  test("lets go a text that a method has given", () => {
    const made = objectOf({});
    const give = new JSCallback(
      (_self: number, out: Pointer) => {
        const units = Uint16Array.from("Save", (one) => one.charCodeAt(0));
        new BigUint64Array(toArrayBuffer(out, 0, 8))[0] = BigInt(made.ole.SysAllocStringLen(units, 4) ?? 0);
        return 0;
      },
      { args: ["ptr", "ptr"], returns: "i32" },
    );
    made.table[3] = BigInt(give.ptr ?? 0);
    expect([made.face.text(100, 3), made.held.size, made.self.length]).toEqual(["Save", 0, 1]);
    give.close();
  });
});
