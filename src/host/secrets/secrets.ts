/**
 * The secrets of this host: `{config_dir}/secrets.json`, each value encrypted with age to the host's own key, and the credentials that
 * systemd gives the service.
 *
 * The promise: a value is in no file but as ciphertext, and in no answer. It leaves this module only for a run that may use it.
 */
import * as v from "valibot";
import { NAME_TEXT } from "../../core/rights";
import { badInput, busy, conflict, messageOf, notFound, unavailable } from "../../lib/errors";
import { createJsonStore, parseBy } from "../../lib/json-store";
import type { Log } from "../../lib/log";
import { meant } from "../../lib/nearest";
import { printable } from "../../lib/sanitize";
import { createCredentials } from "./credentials";
import { openSecretsKey, readSecretsKey } from "./key";

/** In characters: what is shorter occurs in any sentence, and what is longer is not kept whole, so neither could be masked (`redact.ts`). */
export const SECRET_LENGTH = { least: 4, most: 4_096 };

/** The most secrets in the file: each change writes all of them. */
const MAX_SECRETS = 1_000;

/** The most that one run may use: they are all decrypted before it begins. */
const MAX_OF_RUN = 100;

const STORED = v.object({
  name: NAME_TEXT,
  /** When it was set, ISO 8601, and the name of the token that did; `owner` for the owner of the host. */
  set: v.pipe(v.string(), v.isoTimestamp()),
  by: v.string(),
  /** A binary age file in base64. */
  sealed: v.pipe(v.string(), v.base64()),
  /** The day in UTC on which a run used it last. */
  used: v.optional(v.pipe(v.string(), v.isoDate())),
});

type StoredSecret = v.InferOutput<typeof STORED>;

/** A secret in a listing. */
export const LISTED_SECRET = v.object({
  name: v.string(),
  /** `systemd`: a credential of the service, which svc cannot change. */
  source: v.picklist(["store", "systemd"]),
  /** When it was set, ISO 8601. */
  set: v.string(),
  /** The name of the token that set it; `owner` for the owner of the host, `systemd` for a credential. */
  by: v.string(),
  /** The day in UTC on which a run used it last; null for never, and for a credential, whose use is not noted. */
  last_used: v.nullable(v.string()),
});

export type ListedSecret = v.InferOutput<typeof LISTED_SECRET>;

/** The secrets of this host. */
export interface HostSecrets {
  /** By name. @throws `unavailable` when the file is broken or cannot be read, as all below. */
  list(): ListedSecret[];
  /**
   * Sets the value of a secret. @param by the name of the token that does; null for the owner of the host.
   *
   * @returns how it is listed, and whether it had a value before. @throws `conflict` for the name of a credential of systemd, and where
   *   there are {@link MAX_SECRETS}.
   */
  set(name: string, value: string, by: string | null): Promise<ListedSecret & { readonly replaced: boolean }>;
  /** @throws `not_found` for an unknown name. */
  remove(name: string): Promise<void>;
  /** The values, by name, for a run: the day is noted. @throws `bad_input` that names each which there is not, and where one cannot be masked; `unavailable` for one that cannot be decrypted. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The names of those whose values cannot be had, and why each. */
  faults(): Promise<Array<{ readonly name: string; readonly why: string }>>;
}

/** @param credentials the folder of systemd's credentials; undefined where this process has none. */
export function createSecrets(
  place: { readonly file: string; readonly lock: string; readonly key: string },
  log: Log,
  credentials: string | undefined,
): HostSecrets {
  const { file, lock, key } = place;
  const store = createJsonStore<StoredSecret>(
    { file, lock, what: "a list of secrets", list: "secrets", key: "name", parse: parseBy(STORED) },
    log,
  );
  const given = createCredentials(credentials);

  const list = (): ListedSecret[] => {
    const ofSystemd = given.list();
    const names = ofSystemd.map(({ name }) => name);
    const stored = store.entries().filter(({ name }) => !names.includes(name));
    return [
      ...ofSystemd.map(({ name, since }) => ({
        name,
        source: "systemd" as const,
        set: since,
        by: "systemd",
        last_used: null,
      })),
      ...stored.map(listed),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };
  /** Once a day for each: the file is written whole. Never rejects: the run goes on without it. */
  const noteUse = async (names: readonly string[]): Promise<void> => {
    const today = new Date().toISOString().slice(0, 10);
    const isNew = ({ name, used }: StoredSecret) => names.includes(name) && used !== today;
    if (!store.entries().some(isNew)) return;
    try {
      await store.change(
        (all) => void all.updateEach((entry) => (isNew(entry) ? { used: today } : undefined)),
      );
    } catch (error) {
      log.warn(`the use of secrets cannot be noted: ${printable(messageOf(error))}`);
    }
  };
  const readValue = async (name: string): Promise<string> => {
    if (given.has(name)) return given.read(name).replace(/\r?\n$/, "");
    const found = store.entries().find((one) => one.name === name);
    if (!found) throw badInput(`unknown secret: ${name}`);
    return decrypt(found, readSecretsKey(key));
  };

  return {
    list,
    async set(name, value, by) {
      if (given.has(name)) throw conflict(`name: ${name} is a credential of systemd: its unit sets it`);
      const sealed = await encrypt(value, await openSecretsKey(key));
      const set = { name, set: new Date().toISOString(), by: by ?? "owner", sealed };
      return store.change((all) => {
        const replaced = all.has(name);
        const used = all.entries.find((one) => one.name === name)?.used;
        const entry = { ...set, ...(used !== undefined && { used }) };
        if (!replaced && all.entries.length >= MAX_SECRETS)
          throw busy(`there are already ${MAX_SECRETS} secrets`, "conflict");
        if (replaced) all.replace(entry);
        else all.add(entry);
        return { ...listed(entry), replaced };
      });
    },
    remove: (name) =>
      store.change((all) => {
        if (all.remove(name)) return;
        if (given.has(name)) throw conflict(`name: ${name} is a credential of systemd: its unit removes it`);
        throw notFound(`no secret is named ${printable(name, 64)}`);
      }),
    async read(names) {
      if (names.length > MAX_OF_RUN)
        throw badInput(`expected at most ${MAX_OF_RUN} secrets in a run but found ${names.length}`);
      const known = names.length > 0 ? list().map(({ name }) => name) : [];
      const missing = names.filter((name) => !known.includes(name));
      if (missing.length > 0) throw badInput(missing.map((name) => unknown(name, known)).join("; "));
      const values = new Map<string, string>();
      for (const name of names) {
        const value = await readValue(name);
        const { least, most } = SECRET_LENGTH;
        if (value.length < least || value.length > most)
          throw badInput(
            `the secret ${name} has ${value.length} characters, and svc can mask what has ${least} to ${most}`,
          );
        values.set(name, value);
      }
      await noteUse(names);
      return values;
    },
    async faults() {
      const faults: Array<{ name: string; why: string }> = [];
      for (const { name } of list()) {
        const why = await readValue(name).then(
          () => undefined,
          (error: unknown) => (error instanceof Error ? error.message : "unknown error"),
        );
        if (why !== undefined) faults.push({ name, why });
      }
      return faults;
    },
  };
}

const listed = ({ name, set, by, used }: StoredSecret): ListedSecret => ({
  name,
  source: "store",
  set,
  by,
  last_used: used ?? null,
});

const unknown = (name: string, known: readonly string[]) =>
  `unknown secret: ${name}${meant(name, known) || `: \`svc secret set ${name}\` on this host sets it`}`;

async function encrypt(value: string, identity: string): Promise<string> {
  const { Encrypter, identityToRecipient } = await import("age-encryption");
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(identity));
  return Buffer.from(await encrypter.encrypt(value)).toString("base64");
}

async function decrypt({ name, sealed }: StoredSecret, identity: string | undefined): Promise<string> {
  const { Decrypter } = await import("age-encryption");
  try {
    if (identity === undefined) throw new Error("no key");
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    return await decrypter.decrypt(new Uint8Array(Buffer.from(sealed, "base64")), "text");
  } catch {
    throw unavailable(
      `the secret ${name} cannot be decrypted with the key in secrets_key: restore both files from one backup, or \`svc secret set ${name}\` anew`,
    );
  }
}
