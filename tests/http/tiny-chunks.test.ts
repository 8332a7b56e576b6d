/** Bodies that are sent in many small chunks. */
import { expect, test } from "bun:test";
import { readJson } from "../../src/http/body";

/** What is read of `text` in chunks of so many bytes, and how many of them were taken. */
async function read(text: string, size: number) {
  let taken = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const at = taken++ * size;
        if (at < text.length) controller.enqueue(Buffer.from(text.slice(at, at + size)));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request("http://localhost/", { method: "POST", body });
  const value = await readJson(request, 1_000_000).catch((error: Error) => error.message);
  return { value, taken };
}

test("a body in chunks of a byte is refused after some of them; one in chunks of 64 bytes, and a small one, are read", async () => {
  const large = `"${"x".repeat(100_000)}"`;
  const tiny = await read(large, 1);
  expect(tiny.value).toBe("body: expected chunks of at least 64 bytes");
  expect(tiny.taken).toBeLessThan(2_000);
  expect((await read(large, 64)).value).toBe(JSON.parse(large));
  expect((await read(`"${"x".repeat(900)}"`, 1)).value).toBe("x".repeat(900));
});
