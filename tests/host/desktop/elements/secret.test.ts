/** The text of a password field of a real form is in no tree, trace, log, row or answer. */
import { expect, setDefaultTimeout } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openTrace } from "../../../../src/host/trace/open";
import { runToEnd, SOURCE, temporaryFolder, testWith } from "../../../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(120_000);
const SECRET = "hunter4711";
const DONE = "trace.zip";

const ACTIONS = [
  ["AC_set_element_text", { element: 'textbox "Customer"', text: "ACME", timeout: 20 }],
  ["AC_set_element_text", { element: 'textbox "PIN"', text: "${pin}" }],
  ["AC_act", { steps: [{ do: "set_text", element: 'textbox "PIN"', text: "${pin}9" }] }],
  ["AC_snapshot", {}],
  ["AC_a11y_dump", {}],
  ["AC_a11y_find", { role: "password text" }],
  ["AC_read_element", { element: 'textbox "PIN"' }],
  ["AC_press_element", { element: 'button "OK"' }],
];

testWith(...PROGRAMS)("the text of a password field is in no tree, trace, log, row or answer", async () => {
  await using session = await startSession();
  using folder = temporaryFolder();
  const zenity = session.start(
    ...["zenity", "--forms", "--title=Order 12", "--add-entry=Customer", "--add-password=PIN"],
  );
  const script = join(folder.path, "fill.json");
  writeFileSync(script, JSON.stringify(ACTIONS));
  const env = { ...session.env, HOME: folder.path, SVC_CONFIG_DIR: join(folder.path, "config") };
  const command = [
    ...SOURCE,
    "execute",
    script,
    "--stop-on-error",
    "--json",
    "--var",
    `pin=${SECRET}`,
    "--trace",
    join(folder.path, DONE),
  ];
  const { stdout: answer, stderr: log, exitCode: code } = await runToEnd(command, { env });
  expect([code, log]).toEqual([0, expect.stringContaining("trace")]);
  expect(await zenity.stdout.text()).toBe(`ACME|${SECRET}9\n`);
  expect(answer + log).not.toContain(SECRET);
  expect(answer).toContain("ACME");
  using trace = openTrace(join(folder.path, DONE));
  const steps = trace.steps();
  expect(JSON.stringify([trace.run, steps])).not.toContain(SECRET);
  expect(steps[0]?.element).toBe('textbox "Customer" in window "Order 12"');
  expect(steps[1]?.tree?.join("\n")).toContain('textbox "Customer"');
  expect(steps[1]?.tree?.join("\n")).toContain('textbox "PIN" secret');
  expect(steps[2]?.element).toBe('set_text textbox "PIN"');
  for (const name of readdirSync(folder.path, { recursive: true, encoding: "utf8" })) {
    if (name === "fill.json" || name === DONE) continue;
    const text = await Bun.file(join(folder.path, name))
      .text()
      .catch(() => "");
    expect([name, text.includes(SECRET)]).toEqual([name, false]);
  }
});
