/**
 * What somebody has allowed with a passkey, by the rows of the log: offline, with nothing but the log.
 */
import { isSameHolder, OWNER_NAME } from "../../../core/rights";
import { Failure, notFound } from "../../../lib/errors";
import { isLate, verifyYes } from "../../../trust/passkeys/yes";
import type { AuditLog } from "../log";
import type { AuditRow } from "../row";
import { rowsWith } from "./make";
import type { SignedApproval } from "./result";

/** What comes before may have the same words in it, as whoever asked has written some of it. */
const ALLOW =
  /^\S+ \S+ -> started (approvals\.allow|lease\.allow|plan\.apply|screen\.control|admin\.screen_control label="(?:[^"\\]|\\.)*")(?: id=| viewer=")([0-9a-f-]{8,36})"?(?: .*)? passkey=([A-Za-z0-9_-]+)(?: token=(\S+))?(?: via=\S+)?(?: trace=[0-9a-f]+)?$/s;

/** What a row says of the yes to this approval; undefined for any other row. */
function allowIn(id: string, { detail, ts }: AuditRow) {
  const [, what = "", named, word, token = null] = ALLOW.exec(detail ?? "") ?? [];
  if (named !== id || word === undefined) return undefined;
  // Through a desk, the row names the host before the viewer.
  return { what: what.replace(/ .*/s, ""), word, token, at: ts };
}

/**
 * The yes to the approval, the lease, the plan or the viewer with that id; the newest where there are several.
 *
 * @throws `not_found` where no row says that it was given with a passkey.
 */
export async function signedApproval(log: AuditLog, id: string): Promise<SignedApproval> {
  const rows = await rowsWith(log, { text: id, since: 0, matches: (row) => allowIn(id, row) !== undefined });
  const said = rows.flatMap((row) => allowIn(id, row) ?? []).at(-1);
  if (!said) throw notFound(`the log has no row that says that ${id} was allowed with a passkey`);
  const unknown = { holder: null, credential: null, key: null, origin: null, text: null, registered: null };
  const found = { id, at: said.at, what: said.what, allowed_by: said.token, ...unknown };
  try {
    const { statement, credential, key, origin, text } = verifyYes(said.word);
    const { holder, terms, what } = statement;
    const registered = await registrationOf(log, { credential, key, holder });
    const read = { ...found, holder, credential, key, origin, text, registered };
    if (what !== said.what || (terms.id ?? terms.viewer) !== id)
      return { ...read, ok: false, reason: "something else was signed" };
    if (isLate(statement, said.at))
      return { ...read, ok: false, reason: "the yes was over before the row of it came" };
    if (!isSameHolder(holder, said.token))
      return { ...read, ok: false, reason: "it was signed by another than who allowed it" };
    if (registered === null || registered > said.at)
      return { ...read, ok: false, reason: "the log does not say that the key is registered for its holder" };
    return { ...read, ok: true, reason: null };
  } catch (error) {
    if (error instanceof Failure && error.code === "rejected")
      return { ...found, ok: false, reason: error.message };
    throw error;
  }
}

/** No name of a holder has a sign that JSON writes otherwise. */
const REGISTERED = /^\S+ \S+ -> started passkeys\.add id=([\w-]+) holder="([^"\\]*)" rp_id=\S+ key=([\w-]+) /;

/** When the log says that the key was registered; null where it does not. */
async function registrationOf(
  log: AuditLog,
  { credential, key, holder }: { credential: string; key: string; holder: string | null },
): Promise<string | null> {
  const [row] = await rowsWith(log, {
    text: `passkeys.add id=${credential} holder=`,
    since: 0,
    matches({ detail }) {
      const [, id, name = "", added] = REGISTERED.exec(detail ?? "") ?? [];
      // What people call the person may have changed since.
      return id === credential && added === key && isSameHolder(name, holder ?? OWNER_NAME);
    },
  });
  return row?.ts ?? null;
}
