/** Trees that no kernel makes, in place of `/sys`: the listing answers or says what is wrong, in text that is well-formed. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { list as listLinux } from "../../src/host/usb/lister-linux";
import { systemCode } from "../../src/lib/errors";
import { temporaryFolder } from "../support";
import { RUNS } from "./inputs";

const device = fc.oneof(
  fc.constantFrom("1-1", "1-1.2", "2-4:1.0", "usb1", "1-", "-1", "1-1.", "99999-1", "1-1\n", "..."),
  fc
    .string({ unit: "grapheme", maxLength: 20 })
    .filter((name) => !/[/\0]/.test(name) && !["", ".", ".."].includes(name)),
);
const attribute = fc.constantFrom(
  "idVendor",
  "idProduct",
  "manufacturer",
  "product",
  "serial",
  "bDeviceClass",
  "speed",
  "devnum",
  "busnum",
  "devpath",
  "uevent",
  "1-1:1.0/driver",
  "1-1:1.0/bInterfaceClass",
  "driver",
);
const thing = fc.oneof(
  fc.record({ is: fc.constant("file" as const), bytes: fc.uint8Array({ maxLength: 300 }) }),
  fc.record({
    is: fc.constant("text" as const),
    text: fc.constantFrom("046d\n", "480\n", "1\n", "-1", "1e9", "0x10", "\n", "46d", "046D "),
  }),
  fc.record({ is: fc.constant("folder" as const) }),
  fc.record({
    is: fc.constant("link" as const),
    to: fc.constantFrom(".", "..", "nowhere", "driver", "/dev/null", "/"),
  }),
);

test("whatever is in it", () => {
  const tree = fc.array(fc.tuple(device, attribute, thing), { maxLength: 12 });
  fc.assert(
    fc.property(tree, (entries) => {
      using root = temporaryFolder();
      const folder = join(root.path, "bus/usb/devices");
      mkdirSync(folder, { recursive: true });
      for (const [name, attribute, made] of entries) put(join(folder, name, attribute), made);
      const devices = listLinux(root.path);
      const said = JSON.stringify(devices);
      expect(said.isWellFormed()).toBe(true);
      expect(said.length).toBeLessThan(entries.length * 4_000 + 10);
      for (const { vendor_id, product_id } of devices) {
        for (const id of [vendor_id, product_id]) expect(id === null || /^[0-9a-f]{4}$/.test(id)).toBe(true);
      }
    }),
    RUNS,
  );
});

/** Puts `made` at `path`, unless an earlier thing is in the way. */
function put(path: string, made: typeof thing extends fc.Arbitrary<infer Thing> ? Thing : never): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    if (made.is === "file") writeFileSync(path, made.bytes);
    if (made.is === "text") writeFileSync(path, made.text);
    if (made.is === "folder") mkdirSync(path);
    if (made.is === "link") symlinkSync(made.to, path);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  }
}
