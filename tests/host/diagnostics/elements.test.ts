/** The check of programs by name: judged from a survey, and of real programs. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { localCaller } from "../../../src/core/caller";
import { waitForOne } from "../../../src/host/desktop/elements/elements";
import { elements, judge } from "../../../src/host/diagnostics/checks/elements";
import { noScreen, unavailable } from "../../../src/lib/errors";
import { testWith } from "../../support";
import { PROGRAMS, startSession } from "../desktop/elements/support";

setDefaultTimeout(60_000);
const caller = localCaller({ audit: async () => null }, "api");
const shown = (name: string, process_id: number, count = 9) => ({
  name,
  process_id,
  windows: 1,
  elements: count,
});
const window = (title: string, pid: number) => ({ title, pid, process: null });
const commands: Record<number, string> = {
  2: "/usr/bin/chromium",
  3: "/opt/mail/mail electron",
  4: "designer libQt5Gui",
  5: "/usr/bin/java",
  6: "xterm",
};
const commandOf = (pid: number) => commands[pid] ?? "";

describe("programs by name:", () => {
  test("each that shows nothing is named with what to start it with", () => {
    const programs = [shown("gedit", 1), shown("Chromium", 2, 1)];
    const windows = [window("Inbox", 3), window("Form", 4), window("Ledger", 5), window("gedit", 1)];
    const { severity, detail, advice } = judge(programs, [], windows, commandOf);
    expect([severity, detail]).toEqual([
      "warn",
      "1 program answers; Chromium, Inbox, Form, Ledger: nothing by name",
    ]);
    expect(advice?.map((line) => line.split(/ \(|=/)[0])).toEqual([
      "Chromium: start it with --force-renderer-accessibility",
      "Inbox: start it with --force-renderer-accessibility",
      "Form: start it again with QT_LINUX_ACCESSIBILITY_ALWAYS_ON",
      "Ledger: start it with -Djavax.accessibility.assistive_technologies",
    ]);
  });

  test("what no switch helps is no warning, and what does not answer is one", () => {
    expect(judge([], [], [window("shell", 6)], commandOf)).toMatchObject({
      ...{ severity: "info", detail: "0 programs answer; shell: nothing by name" },
    });
    expect(judge([], ["process 7"], [window("hung", 7)], commandOf)).toMatchObject({
      ...{ severity: "warn", detail: "0 programs answer; process 7: no answer" },
    });
  });

  test("a host without a screen, or without a bus, is no failure", async () => {
    const on = (windows: () => Promise<[]>, survey: () => Promise<never>) =>
      elements.run({ desktop: async () => ({ windows, elements: { survey } }) }, caller);
    const noBus = async () => {
      throw unavailable("no accessibility bus: none");
    };
    const noDisplay = async () => {
      throw noScreen("no display: DISPLAY is not set");
    };
    expect(await on(noDisplay, noBus)).toMatchObject({ ok: true, severity: "info" });
    expect(await on(async () => [], noBus)).toMatchObject({
      ...{ ok: true, severity: "warn", detail: "no accessibility bus: none" },
    });
  });

  testWith(...PROGRAMS, "xterm")("real programs are told apart, within the time of the check", async () => {
    await using session = await startSession();
    session.start("zenity", "--question", "--title=Order", "--text=Save?");
    const hung = session.start("zenity", "--question", "--title=Hung", "--text=Save?");
    session.start("xterm", "-T", "shell");
    const patient = { timeout: 20, signal: new AbortController().signal };
    for (const window of ["Order", "Hung"])
      await waitForOne(session.elements, { role: "button", name: "Yes", window }, patient);
    hung.kill("SIGSTOP");
    const started = performance.now();
    const found = await elements.run({ desktop: async () => session.desktop }, caller);
    hung.kill("SIGCONT");
    expect(performance.now() - started).toBeLessThan(elements.deadlineMs ?? 0);
    expect(found).toMatchObject({
      severity: "warn",
      extra: { bus: true, answering: ["zenity"], deaf: [expect.stringMatching(/^(?:zenity|process \d+)$/)] },
    });
  });
});
