/**
 * Whether an X server is Xwayland: it shows the windows of X programs alone, and its screen is black.
 */
import { extension, type XConnection } from "./connection";

/** How Xwayland names its outputs (hw/xwayland/xwayland-output.c): by this, or by those of the compositor. */
const OUTPUT_NAME = /^XWAYLAND\d+$/;
/** Later versions have an extension of this name. */
const EXTENSION = "XWAYLAND";

export async function isXwayland(connection: XConnection): Promise<boolean> {
  const { screen, need, reply } = connection;
  if ((await need.QueryExtension(EXTENSION)).present !== 0) return true;
  const randr = await extension(connection, "randr");
  const resources = randr && (await reply(randr.GetScreenResources.bind(randr, screen.root)));
  const [output] = resources?.outputs ?? [];
  if (!randr || output === undefined) return false;
  const info = await reply(randr.GetOutputInfo.bind(randr, output, 0));
  return OUTPUT_NAME.test(info?.name ?? "");
}
