/** Cells of LibreOffice Calc by their addresses, also far away. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitForUsable } from "../../../../src/host/desktop/elements/elements";
import { parseLocator } from "../../../../src/host/desktop/elements/locator";
import { cellAddress } from "../../../../src/host/desktop/elements/sheets";
import { typeInto } from "../../../../src/host/desktop/elements/typing";
import { temporaryFolder, testWith } from "../../../support";
import { forever } from "../support";
import { startSession } from "./support";

setDefaultTimeout(180_000);
const patient = { timeout: 90, signal: new AbortController().signal };

testWith(
  "Xvfb",
  "openbox",
  "dbus-daemon",
  "soffice",
)(
  "a cell is found by its address, read, given a number and typed into, also where it is on no screen",
  async () => {
    await using at = await startSession();
    using folder = temporaryFolder();
    const file = join(folder.path, "s.fods");
    writeFileSync(file, SHEET);
    at.start(
      ...[
        "soffice",
        `-env:UserInstallation=file://${folder.path}/profile`,
        "--calc",
        "--norestore",
        "--nologo",
      ],
      ...["--nofirststartwizard", file],
    );
    const { elements } = at;
    const cell = (address: string) =>
      waitForUsable(elements, parseLocator(`cell ${JSON.stringify(address)} app "soffice"`), patient);
    const read = async (address: string) => (await elements.read((await cell(address)).native_id)).text;
    expect(await read("B2")).toBe("12");
    const far = await cell("B200");
    expect([far.name, far.showing]).toEqual(["B200", false]);
    await elements.setText(far.native_id, "42");
    expect(await read("B200")).toBe("42");
    const hands = { desktop: at.desktop, requester: forever, waiting: patient };
    await typeInto(hands, await cell("C300"), "=B200*2");
    expect(await read("C300")).toBe("84");
    await elements.select((await cell("AB3")).native_id, undefined);
    expect((await cell("AB3")).selected).toBe(true);
  },
);

const SHEET = `<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2"
 office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body><office:spreadsheet><table:table table:name="Orders">
<table:table-row><table:table-cell office:value-type="string"><text:p>Name</text:p></table:table-cell>
<table:table-cell office:value-type="string"><text:p>Amount</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>ACME</text:p></table:table-cell>
<table:table-cell office:value-type="float" office:value="12"><text:p>12</text:p></table:table-cell></table:table-row>
</table:table></office:spreadsheet></office:body></office:document>`;

test("an address is read as row and column, and other names are none", () => {
  expect(["A1", "B200", "Z9", "AA1", "XFD1048576"].map(cellAddress)).toEqual([
    { row: 0, column: 0 },
    { row: 199, column: 1 },
    { row: 8, column: 25 },
    { row: 0, column: 26 },
    { row: 1_048_575, column: 16_383 },
  ]);
  expect(["", "A", "12", "a1", "A0", "A1:B2", "ABCD1", "Total 1"].map(cellAddress)).toEqual(
    Array(8).fill(undefined),
  );
});
