/** The texts that the black box reads of a real form, and those that it does not. */
import { expect, setDefaultTimeout } from "bun:test";
import { openBus } from "../../../../../src/host/desktop/elements/open-bus";
import { createExclusion } from "../../../../../src/host/desktop/screen/black-box/exclusion";
import { createTextReader } from "../../../../../src/host/desktop/screen/black-box/texts";
import { testWith, until } from "../../../../support";
import { PROGRAMS, startSession } from "../../elements/support";

setDefaultTimeout(120_000);
const test = testWith(...PROGRAMS);
const SECRET = "hunter4711";
const FORM = { title: "Order 12", program: "zenity", focused: true };

/** A form whose fields are filled in. */
async function startForm() {
  const session = await startSession();
  session.start("zenity", "--forms", `--title=${FORM.title}`, "--add-entry=Customer", "--add-password=PIN");
  for (const [name, text] of [
    ["Customer", "ACME"],
    ["PIN", SECRET],
  ] as const) {
    const field = await until(`the field ${name}`, async () => {
      const { elements } = await session.elements.find({ role: "textbox", name }, 1);
      return elements[0];
    });
    await session.elements.setText(field.native_id, text);
  }
  return session;
}

test("what a form shows is read, and nothing of a secret field", async () => {
  await using session = await startForm();
  const reader = createTextReader(createExclusion([]), () => openBus(session.env, "there"));
  const read = await reader.read(FORM);
  reader.close();
  expect(reader.problem).toBeNull();
  expect(read.map(({ window }) => window)).toEqual([FORM.title]);
  expect(read[0]?.texts).toEqual(expect.arrayContaining(["Customer", "ACME"]));
  expect(JSON.stringify(read)).not.toContain(SECRET);
});

test("nothing is read of a window or a program that is left out, nor again too soon", async () => {
  await using session = await startForm();
  for (const pattern of ["order*", "zenity"]) {
    const reader = createTextReader(createExclusion([pattern]), () => openBus(session.env, "there"));
    expect(await reader.read(FORM)).toEqual([]);
    reader.close();
  }
  const reader = createTextReader(createExclusion([]), () => openBus(session.env, "there"));
  expect(await reader.read(FORM)).toHaveLength(1);
  expect(await reader.read(FORM)).toEqual([]);
  reader.close();
});

test("nothing is read of a window whose title has that of the window with the focus in it", async () => {
  await using session = await startForm();
  const reader = createTextReader(createExclusion(["bank*"]), () => openBus(session.env, "there"));
  expect(await reader.read({ ...FORM, title: "Order" })).toEqual([]);
  expect(reader.problem).toBeNull();
  reader.close();
});

test("where no accessibility bus runs, none is started, and why is said", async () => {
  await using session = await startSession();
  const env = { ...session.env, AT_SPI_BUS_ADDRESS: "" };
  const reader = createTextReader(createExclusion([]), () => openBus(env, "there"));
  expect(await reader.read(FORM)).toEqual([]);
  expect(reader.problem).toContain("no accessibility bus");
  // It would be there for the next, had it been started.
  await expect(openBus(env, "there")).rejects.toThrow("no accessibility bus");
});
