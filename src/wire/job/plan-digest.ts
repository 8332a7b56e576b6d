/** The digest of a plan, which its receipt lets anybody compute. */

import { sha256 } from "../../lib/checksum";
import { stepsInSlices, stepsNow } from "../../lib/turn";

/** How many hosts are hashed at once: some fraction of a millisecond. */
const PIECE_HOSTS = 250;

type Hosts = ReadonlyArray<{ readonly label: string; readonly identity: string }>;

/**
 * Stands for a whole plan: 64 hexadecimal digits.
 *
 * @param content the digest of what each host runs. @param spec its limits. @param hosts each as the address book had it.
 */
export const digestOfPlan = (content: string, spec: object, hosts: Hosts): string =>
  stepsNow(digestSteps(content, spec, hosts));

/** The same, in slices: there may be many hosts. */
export const digestInSlices = (content: string, spec: object, hosts: Hosts): Promise<string> =>
  stepsInSlices(digestSteps(content, spec, hosts));

/** Of the JSON of all hosts, a list of pairs, without the whole of it in memory. */
function* digestSteps(content: string, spec: object, hosts: Hosts): Generator<void, string> {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(`svc-plan-v1\n${content}\n${JSON.stringify(spec)}\n[`);
  for (let at = 0; at < hosts.length; at += PIECE_HOSTS) {
    const pairs = hosts.slice(at, at + PIECE_HOSTS).map(({ label, identity }) => [label, identity]);
    hash.update(`${at === 0 ? "" : ","}${JSON.stringify(pairs).slice(1, -1)}`);
    yield;
  }
  return hash.update("]").digest("hex");
}

/**
 * What the limits of a plan say of its content, so that its digest has it: all hosts run the content with the digest of the plan (`one`), or
 * each has its own, and that digest stands for all of them (`each`). Plans that an earlier svc has made do not say it.
 */
export type PlanContents = "one" | "each";

/**
 * Stands for what one host runs, and tells nobody what that is who does not have `key`: the values of variables may be short.
 *
 * @param key hexadecimal, of that host alone. @param content the digest of what it runs.
 */
export const commitmentOf = (key: string, content: string): string =>
  sha256(`svc-host-content-v1\n${key}\n${content}`);

/** Stands for what the hosts run, where each has a content of its own. @param commitments in the order of the plan. */
export const digestOfContents = (commitments: readonly string[]): string =>
  sha256(["svc-contents-v1", ...commitments].join("\n"));
