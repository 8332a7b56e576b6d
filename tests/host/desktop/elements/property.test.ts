/** Where the root window says that the accessibility bus is, which Qt 5 asks at its start. */
import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { socketIn } from "../../../../src/host/desktop/bus-address";
import { openBus } from "../../../../src/host/desktop/elements/open-bus";
import { temporaryFolder, testWith } from "../../../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);

testWith(...PROGRAMS, "xprop")(
  "the address of a bus that has gone is written anew, and that of another one is kept, also of one that says nothing",
  async () => {
    await using at = await startSession();
    await using other = await startSession();
    const xprop = async (env: NodeJS.ProcessEnv, ...words: string[]) =>
      Bun.spawn(["xprop", "-root", ...words], { env, stdio: ["ignore", "pipe", "ignore"] }).stdout.text();
    /** The address that is there after svc has asked, where `address` was before. */
    const after = async (address: string) => {
      await xprop(at.env, "-f", "AT_SPI_BUS", "8s", "-set", "AT_SPI_BUS", address);
      (await openBus(at.env)).close();
      return /= "(.*)"/.exec(await xprop(at.env, "AT_SPI_BUS"))?.[1] ?? "";
    };
    await other.elements.tree({}, 1);
    await at.elements.tree({}, 1);
    const addressOf = async (env: NodeJS.ProcessEnv) =>
      /= "(.*)"/.exec(await xprop(env, "AT_SPI_BUS"))?.[1] ?? "";
    const [own, foreign] = [await addressOf(at.env), await addressOf(other.env)];
    expect(socketIn(await after("unix:path=/nowhere/bus_0"))).toBe(socketIn(own));
    expect(await after(foreign)).toBe(foreign);
    using folder = temporaryFolder();
    // It takes connections and says nothing: it may be busy, or not for svc.
    using _silent = Bun.listen({ unix: join(folder.path, "bus"), socket: { data() {} } });
    const silent = `unix:path=${join(folder.path, "bus")}`;
    expect(await after(silent)).toBe(silent);
  },
);
