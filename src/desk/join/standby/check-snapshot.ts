/** What a standby looks at before it keeps a snapshot: that it would make this machine the desk. */
import { readFileSync } from "node:fs";
import { signingKey } from "../../../trust/identity";
import { checked, type Readers } from "../desk-bundle";
import { DATABASE_NAMES, unpacked } from "../desk-databases";
import { haveMessage } from "./endpoints";
import { openSnapshot, openStandbyKey } from "./snapshot";

/**
 * Checks the snapshot in a file. A large one takes seconds, in one turn of the event loop.
 *
 * @param keyFile has the key of this machine as a standby.
 * @param id of the standby string.
 * @returns that this machine has it, as {@link haveMessage}, signed by the key in it.
 * @throws `rejected` for what cannot be opened with that key, or would not make this machine the desk.
 */
export async function checkSnapshot(
  file: string,
  keyFile: string,
  readers: Readers,
  id: string,
  stamp: string,
): Promise<string | null> {
  const { identity } = await openStandbyKey(keyFile);
  const { files, databases } = await checked(await openSnapshot(readFileSync(file), identity), readers);
  for (const name of DATABASE_NAMES)
    if (databases[name] !== undefined) unpacked(name, databases[name]).close();
  return signingKey(files.desk_key)?.sign(haveMessage(id, stamp)) ?? null;
}
