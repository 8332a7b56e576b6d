/** Some tasks of `bench/desktop-tasks`, of one toolkit each: the compiled binary does them by name, and what came of it is looked at. */
import { expect, setDefaultTimeout } from "bun:test";
import { runOnce } from "../../bench/desktop-tasks/runner";
import { TASKS } from "../../bench/desktop-tasks/tasks";
import { temporaryFolder, testWith } from "../support";

setDefaultTimeout(120_000);

/** Each task, with the programs that it needs. */
const SHORT: Readonly<Record<string, readonly string[]>> = {
  F01: ["zenity"],
  F07: ["java"],
  M05: ["speedcrunch"],
  T01: ["mousepad"],
  T09: ["gnome-text-editor"],
  D05: ["gedit"],
  B04: ["chromium"],
};

for (const [id, programs] of Object.entries(SHORT)) {
  const task = TASKS.find((one) => one.id === id);
  if (!task) throw new Error(`no task is named ${id}`);
  testWith(
    "Xvfb",
    "openbox",
    "dbus-daemon",
    "xclip",
    ...programs,
  )(`by name in ${task.program} (${task.toolkit}): ${task.what}`, async () => {
    using folder = temporaryFolder();
    const { failure } = await runOnce(task, {
      ...{ change: undefined, way: "names", kept: folder.path, pictures: folder.path, idle: false },
    });
    expect(failure).toBeUndefined();
  });
}
