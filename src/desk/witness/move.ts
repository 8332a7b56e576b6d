/**
 * What a desk knows of the logs of its hosts, as it moves to another machine.
 *
 * The promise: a log that one of the two has found broken does not count as good.
 */
import type { Database } from "bun:sqlite";
import { printable } from "../../lib/sanitize";
import { BROKEN, statusesIn } from "./states";

/**
 * Keeps in `coming` the verdicts of `here`, with what proves them.
 *
 * @returns what to tell the operator: each log that is broken.
 */
export function keepVerdicts(coming: Database, here: Database | undefined): string[] {
  const theirs = statusesOf(coming);
  for (const [id, status] of here ? statusesOf(here) : []) {
    const known = theirs.get(id);
    if (!BROKEN.includes(status.state) || (known && BROKEN.includes(known.state))) continue;
    coming.run("INSERT OR REPLACE INTO hosts VALUES (?1, ?2)", [id, JSON.stringify(status)]);
    theirs.set(id, status);
    if (status.origin === null) continue;
    const evidence = here
      ?.query<{ found: number; file: string }, [string]>(
        "SELECT found, file FROM evidence WHERE origin = ?1 ORDER BY id",
      )
      .all(status.origin);
    for (const { found, file } of evidence ?? [])
      coming.run("INSERT INTO evidence(origin, found, file) VALUES (?1, ?2, ?3)", [
        ...([status.origin, found, file] as const),
      ]);
  }
  return [...theirs.values()]
    .filter(({ state }) => BROKEN.includes(state))
    .map(
      ({ label, state }) => `the audit log of ${printable(label, 100)} is ${state}: \`svc admin witness\``,
    );
}

const statusesOf = (db: Database) =>
  statusesIn(
    new Map(
      db
        .query<{ host_id: string; record: string }, []>("SELECT host_id, record FROM hosts")
        .all()
        .map(({ host_id, record }) => [host_id, JSON.parse(record) as unknown]),
    ),
  );
