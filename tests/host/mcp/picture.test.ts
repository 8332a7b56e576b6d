/** Screenshots in answers, as pictures. */
import { expect, test } from "bun:test";
import { encodePng } from "../../../src/host/desktop/png";
import { contentOf, pictureOf } from "../../../src/host/mcp/picture";
import { dataIn } from "./support";

/** A screenshot of one color. */
function shot(width: number, height: number, shade: number) {
  const pixels = new Uint8Array(width * height * 4).fill(shade);
  const data = Buffer.from(encodePng({ width, height, redAt: 0, pixels })).toString("base64");
  return { format: "png", width, height, region: [0, 0, width, height], encoding: "base64", data };
}

const textOf = (content: Awaited<ReturnType<typeof contentOf>>) =>
  content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("\n");

test("a screenshot that an answer has twice is one picture, and no text", async () => {
  const taken = shot(64, 48, 200);
  const content = await contentOf({
    result: { "execute: x": taken },
    // As it comes from elsewhere: another object.
    outcomes: [{ ok: true, result: structuredClone(taken) }],
  });
  expect(content.filter(({ type }) => type === "image")).toHaveLength(1);
  const { data: _, encoding: __, ...others } = taken;
  expect(dataIn(textOf(content.slice(0, 1)))).toEqual({
    result: { "execute: x": { ...others, picture: 1 } },
    outcomes: [{ ok: true, result: { ...others, picture: 1 } }],
  });
  expect(textOf(content)).not.toContain(taken.data.slice(0, 40));
  expect(textOf(content)).toContain("Picture 1:\nThe picture is 64 x 48 pixels, as on the screen.");
});

test("an answer shows the last four", async () => {
  const content = await contentOf([1, 2, 3, 4, 5].map((shade) => shot(8, 8, shade)));
  expect(content.filter(({ type }) => type === "image")).toHaveLength(4);
  const [first, second] = dataIn(textOf(content.slice(0, 1))) as Array<{ picture: unknown }>;
  expect([first?.picture, second?.picture]).toEqual(["left out: an answer shows the last 4", 1]);
});

test("what only looks like a screenshot is no picture, and says so", async () => {
  const content = await contentOf({ format: "png", encoding: "base64", data: "bm90IG9uZQ==" });
  expect(content.map(({ type }) => type)).toEqual(["text", "text", "text"]);
  expect(textOf(content)).toContain("it cannot be read as a picture");
});

test("the words beside a picture say how tools take its places, where these are not those of the desktop", async () => {
  const scaled = textOf(await pictureOf(shot(1_280, 800, 9), { side: 640 }));
  expect(scaled).toContain('"picture": "640x400 of 0,0,1280,800"');
  const part = textOf(await pictureOf({ ...shot(100, 50, 9), region: [200, 300, 300, 350] }));
  expect(part).toContain('"picture": "100x50 of 200,300,300,350"');
  const sharp = textOf(await pictureOf({ ...shot(200, 100, 9), region: [0, 0, 100, 50] }));
  expect(sharp).toContain('"picture": "200x100 of 0,0,100,50"');
});
