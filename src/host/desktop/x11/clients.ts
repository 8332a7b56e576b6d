/**
 * Which process a window of an X server is of, by what the kernel says of the connection of its program (X-Resource 1.2, "LocalClientPID"):
 * `_NET_WM_PID` is what a program says of itself, which may be anything.
 */
import type { XResources } from "x11";
import { once } from "../../../lib/once";
import type { XConnection } from "./connection";

/** @returns a function that gives the process of a window; undefined where the server does not say, and where its numbers of processes are not those of this system. */
export function clientProcesses({
  client,
  display,
  reply,
}: XConnection): (id: number) => Promise<number | undefined> {
  const ask = async (resources: XResources, id: number) => {
    const specs = [{ client: id, mask: resources.ClientIdMask.LocalClientPID }];
    const [found] = (await reply(resources.QueryClientIds.bind(resources, specs))) ?? [];
    return found?.value[0] || undefined;
  };
  const usable = once(async () => {
    const resources = await reply<XResources>((taken) => client.require("res", taken));
    if (resources?.major !== 1 || resources.minor < 2) return undefined;
    // A server in a container of its own counts processes otherwise.
    return (await ask(resources, display.resource_base)) === process.pid ? resources : undefined;
  });
  return async (id) => {
    const resources = await usable();
    return resources && ask(resources, id);
  };
}
