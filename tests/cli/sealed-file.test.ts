/** Files that may be sealed under a passphrase. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { armor, Encrypter } from "age-encryption";
import { isSealed, readSealable, seal, unseal, writeSealable } from "../../src/cli/sealed-file";
import { host } from "../host/config/support";

// To open or to seal takes a second by design, and longer on a machine that is busy.
setDefaultTimeout(180_000);

/** What another program has sealed with less work: to open it takes some milliseconds. */
async function sealedFast(text: string, passphrase: string): Promise<string> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  encrypter.setScryptWorkFactor(8);
  return armor.encode(await encrypter.encrypt(text));
}

test("a sealed bundle opens with its passphrase", async () => {
  const sealed = Buffer.from(await seal('{"token":"hunter2"}', "correct horse"));
  expect(isSealed(sealed)).toBe(true);
  expect(sealed.toString()).not.toContain("hunter2");
  expect(await unseal(sealed, "correct horse")).toBe('{"token":"hunter2"}');
  // As much work as age makes of it, so that nobody tries many passphrases.
  expect(Buffer.from(armor.decode(sealed.toString())).toString("latin1")).toMatch(/^-> scrypt \S+ 18$/m);
});

test("a sealed bundle opens with no other passphrase", async () => {
  const sealed = Buffer.from(await sealedFast('{"token":"hunter2"}', "correct horse"));
  expect(await unseal(sealed, "correct horse")).toBe('{"token":"hunter2"}');
  await expect(unseal(sealed, "wrong horse")).rejects.toThrow(
    "the passphrase is wrong or the file is damaged",
  );
});

test("a sealed bundle of which one character was changed does not open", async () => {
  const sealed = `${(await sealedFast("{}", "p")).trimEnd()}\n`;
  const lines = sealed.split("\n");
  const at = lines.length - 3;
  const line = lines[at] ?? "";
  lines[at] = (line.startsWith("A") ? "B" : "A") + line.slice(1);
  await expect(unseal(Buffer.from(lines.join("\n")), "p")).rejects.toThrow("damaged");
});

test("a file is read whether it is sealed or not, and is private", async () => {
  using machine = host();
  const [open, sealed] = [join(machine.root, "open"), join(machine.root, "sealed")];
  await writeSealable(open, '{"a":1}', undefined);
  await writeSealable(sealed, '{"a":1}', "p");
  const asked: string[] = [];
  const passphrase = async () => {
    asked.push("once");
    return "p";
  };
  expect(Buffer.from(await readSealable(open, passphrase)).toString()).toBe('{"a":1}\n');
  expect(asked).toEqual([]);
  expect(Buffer.from(await readSealable(sealed, passphrase)).toString()).toBe('{"a":1}');
  expect(asked).toEqual(["once"]);
  const link = join(machine.root, "stdout");
  symlinkSync(open, link);
  await expect(writeSealable(link, "{}", undefined)).rejects.toThrow("not a regular file");
  expect([statSync(open).mode & 0o777, statSync(sealed).mode & 0o777]).toEqual([0o600, 0o600]);
});
