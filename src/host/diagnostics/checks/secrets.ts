/** `secrets`: each secret that scripts may name can be read. */
import { check, failed, fine } from "../check";

interface Uses {
  secrets(): Promise<{
    list(): readonly unknown[];
    faults(): Promise<ReadonlyArray<{ readonly name: string; readonly why: string }>>;
  }>;
}

/** Names in a line for a person; `extra` has all of them. */
const MAX_NAMED = 5;

export const secrets = check({
  name: "secrets",
  summary: "Each secret of this host can be decrypted with its key, or is a readable credential of systemd",
  advice: ["svc diagnose --only trust_files", "svc secret set NAME, for each that it names"],
  async run(service: Uses) {
    const store = await service.secrets();
    const count = store.list().length;
    const faults = await store.faults();
    const extra = { count, unreadable: faults.map(({ name }) => name) };
    if (faults.length === 0) return fine(count === 0 ? "no secrets" : `secrets: ${count}`, extra);
    const named = faults.slice(0, MAX_NAMED).map(({ why }) => why);
    const more = faults.length - named.length;
    return failed(
      `${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}`,
      ["restore secrets.json and secrets_key from one backup", "svc secret set NAME sets one anew"],
      extra,
    );
  },
});
