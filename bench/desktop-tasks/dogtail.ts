/** The same scripts by dogtail (Debian: python3-dogtail), for tasks of GTK: its own search, its own pointer and keys. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Locator, parseLocator } from "../../src/host/desktop/elements/locator";
import { nativeRoleOf, numbersOf } from "../../src/host/desktop/elements/roles";
import { type Exit, runIn } from "./run-in";
import type { Action, Task } from "./task";
import type { World } from "./world";

const PROGRAM = join(import.meta.dir, "sources", "by-dogtail.py");
/** Those that it does: of GTK, without steps that only svc has. */
const IDS = [
  ...["F01", "F02", "F04", "F05", "F06", "M01", "M02", "M03", "M12", "L01", "L04", "L07"],
  ...["D02", "D03", "T01", "T02", "T03", "T04", "G01", "G02"],
];

export const isForDogtail = ({ id }: Task): boolean => IDS.includes(id);

/** What dogtail looks for: a locator with the names that AT-SPI has for its role. */
const plain = (locator: Locator): object => ({
  ...locator,
  roles: locator.role === undefined ? null : numbersOf(locator.role).map(nativeRoleOf),
  within: locator.within === undefined ? null : plain(locator.within),
});

/** Runs a script by dogtail. */
export async function byDogtail(world: World, actions: readonly Action[], seconds: number): Promise<Exit> {
  const steps = actions.map(([command, input = {}]) => {
    const { element, role, name, window_title } = input;
    if (typeof element === "string") return { command, input, locator: plain(parseLocator(element)) };
    if (typeof role !== "string") return { command, input, locator: null };
    const line = `${role} ${JSON.stringify(name)} window ${JSON.stringify(window_title)}`;
    return { command, input, locator: plain(parseLocator(line)) };
  });
  const file = join(world.folder, "..", "steps.json");
  writeFileSync(file, JSON.stringify(steps));
  return runIn(world, ["/usr/bin/python3", PROGRAM, file], seconds);
}
