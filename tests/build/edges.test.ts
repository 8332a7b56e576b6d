/** Which folder may import which. */
import { expect, test } from "bun:test";
import { importsIn, isAllowed } from "../../build/edges";

const refused = (from: string, text: string) =>
  importsIn(from, text)
    .filter((edge) => !isAllowed(edge))
    .map(({ to }) => to);

test("a feature does not import another's insides, types and late imports included", () => {
  const text = `import { a } from "./own";
import type {
  Usb,
} from "../usb/usb";
export { b } from "../fleet/host";
import { c } from "../core/call";
import { d } from "valibot";
const late = await import("../desktop/desktop");
`;
  expect(refused("src/audit/log.ts", text)).toEqual([
    "src/usb/usb.ts",
    "src/fleet/host.ts",
    "src/desktop/desktop.ts",
  ]);
});

test("core and lib know no feature, and no feature knows the service", () => {
  expect(refused("src/core/call.ts", 'import { x } from "../audit/log";')).toEqual(["src/audit/log.ts"]);
  expect(refused("src/lib/files.ts", 'import { x } from "../core/call";')).toEqual(["src/core/call.ts"]);
  expect(refused("src/usb/usb.ts", 'import type { Service } from "../service";')).toEqual(["src/service.ts"]);
});

test("a subcommand knows the operations of a feature, and nothing behind them", () => {
  expect(refused("commands/usb.ts", 'import { x } from "../src/usb/operations";')).toEqual([]);
  expect(refused("commands/usb.ts", 'import { x } from "../src/usb/watcher";')).toEqual([
    "src/usb/watcher.ts",
  ]);
});

test("the service knows every feature", () => {
  expect(refused("src/service.ts", 'import { x } from "./usb/usb";')).toEqual([]);
});
