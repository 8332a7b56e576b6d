/** The digest of a plan, which its receipt lets anybody compute. */

import { sha256 } from "../../lib/checksum";

/**
 * Stands for a whole plan: 64 hexadecimal digits.
 *
 * @param content the digest of what each host runs. @param spec its limits. @param hosts each as the address book had it.
 */
export const digestOfPlan = (
  content: string,
  spec: object,
  hosts: ReadonlyArray<{ readonly label: string; readonly identity: string }>,
): string =>
  sha256(
    `svc-plan-v1\n${content}\n${JSON.stringify(spec)}\n${JSON.stringify(hosts.map(({ label, identity }) => [label, identity]))}`,
  );

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
