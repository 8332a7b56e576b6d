/** The signature of a real display, over HTTP. */
import { expect, setDefaultTimeout } from "bun:test";
import { BLOCKS } from "../../../../../src/wire/screen/signature";
import { serveSource, testWith, until } from "../../../../support";
import { openTerminal, PROGRAMS, startDisplay } from "../../support";

setDefaultTimeout(120_000);
const test = testWith(...PROGRAMS);

interface Signature {
  readonly windows: ReadonlyArray<{ title: string; program: string | null }>;
  readonly picture: string | null;
}

test("it names windows and shows blocks, and a window that the black box leaves out is in neither", async () => {
  await using display = await startDisplay();
  const flags = ["--black-box-exclude", "*secret*", "--rate-limit", "0"];
  await using server = await serveSource(flags, { env: display.env });
  const take = async () => (await (await server.call("/screen/signature")).json()) as Signature;
  const empty = await take();
  expect(Buffer.from(empty.picture ?? "", "base64")).toHaveLength(4 * BLOCKS);
  await using _hidden = openTerminal(display.env, "my secret notes", "60x10+20+20");
  await using _shown = openTerminal(display.env, "plain title", "60x10+20+400");
  const { windows, picture } = await until("the terminal", async () => {
    const made = await take();
    return made.windows.length > 0 && made.picture !== null && made;
  });
  expect(windows).toEqual([expect.objectContaining({ title: "plain title", program: "xterm" })]);
  expect(picture).not.toBe(empty.picture);
  expect(JSON.stringify(await (await server.call("/audit/list")).json())).toContain("screen.signature");
});
