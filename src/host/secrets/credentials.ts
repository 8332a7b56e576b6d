/**
 * Credentials that systemd gives a service (`LoadCredential=`, `SetCredentialEncrypted=`; systemd.exec(5)): a file each in
 * `$CREDENTIALS_DIRECTORY`, which the service can only read.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { NAME_TEXT } from "../../core/rights";
import { messageOf, systemCode, unavailable } from "../../lib/errors";

/** The largest file that is read, in bytes: of systemd itself, all credentials together have at most 1 MiB. */
const MAX_BYTES = 64 * 1_024;

/** The credentials in `folder`, which is undefined outside such a service. */
export function createCredentials(folder: string | undefined) {
  return {
    /** Their names, sorted, and since when each is there, ISO 8601; those that a script could not name are left out. */
    list(): Array<{ readonly name: string; readonly since: string }> {
      if (!folder) return [];
      try {
        const names = readdirSync(folder).filter((name) => v.is(NAME_TEXT, name));
        return names
          .toSorted()
          .map((name) => ({ name, since: statSync(join(folder, name)).mtime.toISOString() }));
      } catch (error) {
        throw unavailable(`CREDENTIALS_DIRECTORY cannot be read (${systemCode(error) ?? messageOf(error)})`);
      }
    },
    has(name: string): boolean {
      return this.list().some((one) => one.name === name);
    },
    /** The text of one that is listed. @throws `unavailable` where it cannot be read, or is no text. */
    read(name: string): string {
      try {
        const bytes = readFileSync(join(folder ?? "", name));
        if (bytes.length <= MAX_BYTES) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch (error) {
        throw unavailable(
          `the credential ${name} of systemd cannot be read (${systemCode(error) ?? "not a text in UTF-8"})`,
        );
      }
      throw unavailable(`the credential ${name} of systemd has more than ${MAX_BYTES} bytes`);
    },
  };
}
