/** Which folder may import which. */
import { expect, test } from "bun:test";
import { circlesOf, importsIn, isAllowed, storeFaults } from "../../build/edges";

const refused = (from: string, text: string) =>
  importsIn(from, text)
    .filter((edge) => !isAllowed(edge))
    .map(({ to }) => to);

test("a feature does not import another's code, late imports included", () => {
  const text = `import { a } from "./row";
import {
  Usb,
} from "../usb/usb";
export { b } from "../peers/session";
import { c } from "../../core/call";
import { d } from "valibot";
const late = await import("../desktop/desktop");
`;
  expect(refused("src/host/audit/log.ts", text)).toEqual([
    "src/host/usb/usb.ts",
    "src/host/peers/session.ts",
    "src/host/desktop/desktop.ts",
  ]);
});

test("a feature imports types of another feature of its side", () => {
  expect(refused("src/host/audit/log.ts", 'import type { Usb } from "../usb/usb";')).toEqual([]);
});

test("a circle of types between features is found", () => {
  const imports = [
    ...importsIn("src/host/audit/log.ts", 'import type { Usb } from "../usb/usb";'),
    ...importsIn("src/host/usb/usb.ts", 'import type { A } from "../peers/session";'),
    ...importsIn("src/host/peers/session.ts", 'import type { B } from "../audit/row";'),
  ];
  expect(circlesOf(imports)).toEqual([["host/audit", "host/usb", "host/peers", "host/audit"]]);
  expect(circlesOf(imports.slice(1))).toEqual([]);
});

test("host and desk do not import each other, nor does the wire import them, types included", () => {
  const host = 'import type { Host } from "../../desk/fleet/host";';
  expect(refused("src/host/audit/log.ts", host)).toEqual(["src/desk/fleet/host.ts"]);
  const desk = 'import type { Log } from "../../host/audit/log";';
  expect(refused("src/desk/fleet/poll.ts", desk)).toEqual(["src/host/audit/log.ts"]);
  expect(refused("src/wire/job/job.ts", desk)).toEqual(["src/host/audit/log.ts"]);
  expect(refused("src/wire/job/job.ts", host)).toEqual(["src/desk/fleet/host.ts"]);
});

test("core and lib know no feature, and no feature knows the service", () => {
  const log = 'import { x } from "../host/audit/log";';
  expect(refused("src/core/call.ts", log)).toEqual(["src/host/audit/log.ts"]);
  expect(refused("src/lib/files.ts", 'import { x } from "../core/call";')).toEqual(["src/core/call.ts"]);
  const service = 'import type { Service } from "../../service/service";';
  expect(refused("src/host/usb/usb.ts", service)).toEqual(["src/service/service.ts"]);
});

test("a subcommand knows the operations of a feature, and nothing behind them", () => {
  expect(refused("commands/usb.ts", 'import { x } from "../src/host/usb/operations";')).toEqual([]);
  expect(refused("commands/usb.ts", 'import { x } from "../src/host/usb/watcher";')).toEqual([
    "src/host/usb/watcher.ts",
  ]);
});

test("the service knows every feature", () => {
  expect(refused("src/service/service.ts", 'import { x } from "../host/usb/usb";')).toEqual([]);
});

test("a file that opens a store is listed with a reason, and one that opens none is not", () => {
  const opens = "const db = openDatabase(path, { prepare });";
  expect(storeFaults(new Map([["src/host/usb/usb.ts", opens]]))).toEqual([
    "src/host/usb/usb.ts opens a store: the owner of the folder makes stores, each listed in build/edges.ts",
  ]);
  expect(storeFaults(new Map([["src/host/usb/usb.ts", "createJsonStore<Row>(paths, log)"]]))).toHaveLength(1);
  expect(storeFaults(new Map([["src/host/jobs/seen.ts", opens]]))).toEqual([]);
  expect(storeFaults(new Map([["src/host/jobs/seen.ts", "/** As `openDatabase`. */"]]))).toEqual([
    "src/host/jobs/seen.ts opens no store any more, and is listed in build/edges.ts",
  ]);
});
