import { join } from "node:path";
import type { Host } from "../../../src/desk/fleet/host";

/** Where the address book of a folder is. */
export const bookPaths = (folder: string) => ({
  file: join(folder, "admin_hosts.db"),
  former: join(folder, "admin_hosts.json"),
  lock: join(folder, "run", "admin.lock"),
});

/** A host of the address book. */
export const host = (label: string, base_url = "http://127.0.0.1:1", ...tags: string[]) =>
  ({
    label,
    base_url,
    token: "test-token-0123456789",
    tags,
  }) satisfies Host;
