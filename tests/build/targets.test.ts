import { expect, test } from "bun:test";
import { targetNames, targetsIn } from "../../build/targets";

test("each --target counts, also in lists and with all, and none is built twice", () => {
  expect(targetsIn(["linux-x64", "darwin-arm64"])).toEqual(["linux-x64", "darwin-arm64"]);
  expect(targetsIn(["linux-x64,windows-x64", "linux-x64"])).toEqual(["linux-x64", "windows-x64"]);
  expect(targetsIn(["darwin-x64", "all"]).toSorted()).toEqual(targetNames.toSorted());
});

test("a target that there is not is refused with those that there are", () => {
  expect(() => targetsIn(["linux-x64", "beos"])).toThrow(
    /expected all or one of linux-x64, .* found "beos"$/,
  );
});
