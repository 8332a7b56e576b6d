/**
 * Whether an X server is Xwayland: it shows the windows of X programs alone, and its screen is black.
 */
import type { XRandr } from "x11";
import type { XConnection } from "./connection";

/** How Xwayland names its outputs (hw/xwayland/xwayland-output.c): by this, or by those of the compositor. */
const OUTPUT_NAME = /^XWAYLAND\d+$/;
/** Later versions have an extension of this name. */
const EXTENSION = "XWAYLAND";

export async function isXwayland({ client, screen, need, reply }: XConnection): Promise<boolean> {
  if ((await need.QueryExtension(EXTENSION)).present !== 0) return true;
  const { promise, resolve } = Promise.withResolvers<XRandr | undefined>();
  client.require("randr", (error, extension) => resolve(error ? undefined : extension));
  const randr = await promise;
  const resources = randr && (await reply(randr.GetScreenResources.bind(randr, screen.root)));
  const [output] = resources?.outputs ?? [];
  if (!randr || output === undefined) return false;
  const info = await reply(randr.GetOutputInfo.bind(randr, output, 0));
  return OUTPUT_NAME.test(info?.name ?? "");
}
