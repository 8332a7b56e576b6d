/** The viewers of the desktop's child process, from its parent's side. */
import { expect, test } from "bun:test";
import { createViewerParent } from "../../../../src/host/desktop/screen/parent";

test("the end of a recording reaches the child after its beginning, also where the screen has a name", async () => {
  const sent: string[] = [];
  const parent = createViewerParent(new Set(), async (method) => {
    sent.push(method);
  });
  await parent.call("nameScreen", ["lab-07"], true);
  await Promise.all([parent.call("record", [{}], true), parent.call("stopRecording", [], true)]);
  expect(sent).toEqual(["nameScreen", "nameScreen", "record", "stopRecording"]);
});

test("once videos are forbidden, each further viewer comes with that", async () => {
  const sent: unknown[] = [];
  const parent = createViewerParent(new Set(), async (_method, [first]) => {
    sent.push(first);
    return { path: "", key: "" };
  });
  const viewer = (id: string) => ({ id, control: false, name: id });
  await parent.call("openViewer", [viewer("one")], true);
  parent.forbidVideos();
  await parent.call("openViewer", [viewer("two")], true);
  expect(sent).toEqual([viewer("one"), { ...viewer("two"), video: false }]);
});
