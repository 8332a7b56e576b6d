/**
 * The desktop of an X server, over its own protocol: no shared library of the host is needed.
 */
import type { Backend } from "../backend";
import { connect } from "./connection";
import { createKeyboard } from "./keyboard";
import { createPointer } from "./pointer";
import { createScreen } from "./screen";
import { createWindows } from "./windows";

/**
 * @param lost called when the server has gone; the backend is of no use then.
 * @throws an `unavailable` failure that says what is missing.
 */
export async function createX11Backend(lost: () => void): Promise<Backend> {
  const connection = await connect(process.env, lost);
  const { restore, ...keyboard } = createKeyboard(connection);
  return {
    ...createScreen(connection),
    ...createPointer(connection),
    ...keyboard,
    ...createWindows(connection),
    async close() {
      await restore();
      connection.close();
    },
  };
}
