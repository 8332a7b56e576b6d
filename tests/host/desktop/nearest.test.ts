/** What a failure says of an image that is not on the screen. */
import { expect, test } from "bun:test";
import { bestOf } from "../../../src/host/desktop/images/wait";

const place = { x: 3, y: 4, width: 10, height: 10, center_x: 8, center_y: 9 };

test("the best score is named with its place, but a score of 0 has none", () => {
  expect(bestOf({ ...place, score: 0.71 })).toBe("the best score is 0.71 at 3, 4");
  expect(bestOf({ ...place, score: 0 })).toBe("nothing comes near it");
});
