/** The digest of a plan, which its receipt lets anybody compute. */

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
  Bun.SHA256.hash(
    `svc-plan-v1\n${content}\n${JSON.stringify(spec)}\n${JSON.stringify(hosts.map(({ label, identity }) => [label, identity]))}`,
    "hex",
  );
