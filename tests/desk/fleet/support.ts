import type { Host } from "../../../src/desk/fleet/host";

/** A host of the address book. */
export const host = (label: string, base_url = "http://127.0.0.1:1", ...tags: string[]) =>
  ({
    label,
    base_url,
    token: "test-token-0123456789",
    tags,
  }) satisfies Host;
