/** Pictures by ext-image-copy-capture, from a compositor of the test's own: no compositor of Debian 12 has it. */
import { expect } from "bun:test";
import { join } from "node:path";
import type { Picture } from "../../../../src/host/desktop/backend";
import { createWaylandBackend, hasOwnProtocols } from "../../../../src/host/desktop/wayland/backend";
import { connectWayland } from "../../../../src/host/desktop/wayland/connection";
import { temporaryFolder, testWith } from "../../../support";

const PYTHON = "/usr/bin/python3";
const test = testWith(PYTHON);

/** A desktop of 4 by 2 pixels. @param turned how (`wl_output.transform`). @param more arguments of the compositor. */
async function startDesktop(turned = 0, ...more: readonly string[]) {
  const stack = new AsyncDisposableStack();
  const path = join(stack.use(temporaryFolder()).path, "wayland-0");
  const child = Bun.spawn([PYTHON, join(import.meta.dir, "capture.py"), path, `${turned}`, ...more], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  stack.defer(async () => {
    child.kill();
    await child.exited;
  });
  const said = child.stdout.getReader();
  await said.read();
  const connection = await connectWayland({ WAYLAND_DISPLAY: path }, () => {});
  const backend = await createWaylandBackend(connection, { clipboard() {} });
  stack.defer(() => backend.close());
  return {
    ...{ connection, backend },
    /** Resolves when the compositor prints this. */
    async says(words: string) {
      for (let text = ""; !text.includes(words); )
        text += new TextDecoder().decode((await said.read()).value);
    },
    change() {
      child.stdin.write("\n");
      child.stdin.flush();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const numbers = ({ pixels }: Picture) => [...new Uint32Array(pixels.buffer)];
const region = (x1: number, y1: number, x2: number, y2: number) => ({ x1, y1, x2, y2 });

test("a picture is of now, also of a part, and a compositor that has this alone is seen so", async () => {
  await using desktop = await startDesktop();
  const { backend, connection, change } = desktop;
  expect(hasOwnProtocols(connection)).toBe(true);
  expect((await backend.session()).lacks.join()).not.toContain("pictures");
  expect(numbers(await backend.capture(region(0, 0, 4, 2)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(numbers(await backend.capture(region(1, 1, 3, 2)))).toEqual([5, 6]);
  change();
  const later = await backend.capture(region(3, 0, 4, 2));
  // The change and the picture come over two ways: one of both was first.
  expect([
    [3, 7],
    [103, 107],
  ]).toContainEqual(numbers(later));
});

test.each([
  [1, [4, 0, 5, 1, 6, 2, 7, 3], [1, 2]],
  [3, [3, 7, 2, 6, 1, 5, 0, 4], [6, 5]],
])("an output that is turned (%i) is seen upright, and so are its parts", async (turned, whole, part) => {
  await using desktop = await startDesktop(turned);
  const { backend } = desktop;
  expect(await backend.desktop()).toEqual(region(0, 0, 2, 4));
  expect(numbers(await backend.capture(region(0, 0, 2, 4)))).toEqual(whole);
  expect(numbers(await backend.capture(region(1, 1, 2, 3)))).toEqual(part);
});

test("who watches is told of each change, and what has changed", async () => {
  await using desktop = await startDesktop();
  const { backend, change } = desktop;
  let told = Promise.withResolvers<void>();
  const watch = await backend.watch({
    damaged: () => told.resolve(),
    cursor() {},
    clipboard() {},
    over() {},
  });
  expect(watch).toMatchObject({ width: 4, height: 2, scale: 1 });
  await told.promise;
  await watch.grab(true);
  expect([...watch.pixels]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  told = Promise.withResolvers<void>();
  change();
  await told.promise;
  expect(await watch.grab(false)).toEqual([{ x: 1, y: 0, width: 2, height: 1 }]);
  expect([...watch.pixels]).toEqual([0, 101, 102, 3, 4, 5, 6, 7]);
  watch.close();
});

test("a session that ends before it says how large its pictures are is not left in the compositor", async () => {
  await using desktop = await startDesktop(0, "stops");
  const { backend, says } = desktop;
  await expect(backend.capture(region(0, 0, 4, 2))).rejects.toThrow("gave no picture");
  await says("destroyed");
});

test("who watches for the second time binds nothing anew", async () => {
  await using desktop = await startDesktop();
  const { backend, connection } = desktop;
  const bound: string[] = [];
  const { bind } = connection;
  const counted: typeof bind = (name, also) => {
    bound.push(name);
    return bind(name, also);
  };
  Object.assign(connection, { bind: counted });
  const events = { damaged() {}, cursor() {}, clipboard() {}, over() {} };
  for (let nth = 0; nth < 2; nth++) (await backend.watch(events)).close();
  expect(bound.filter((name) => name.startsWith("ext_image") || name === "wl_shm")).toEqual([
    "wl_shm",
    "ext_image_copy_capture_manager_v1",
  ]);
});
