import { describe, expect, test } from "bun:test";
import type { LookupAddress } from "node:dns";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { lookup } from "../../src/client/dial";
import { temporaryFolder, testWith } from "../support";

describe("the address of a name", () => {
  test("is returned in the form that connect asks for", async () => {
    const all = Promise.withResolvers<string | LookupAddress[]>();
    lookup("localhost", { all: true }, (_, found) => all.resolve(found));
    expect(await all.promise).toContainEqual(expect.objectContaining({ address: "127.0.0.1", family: 4 }));
    const none = Promise.withResolvers<string | undefined>();
    lookup("no-such-host.invalid", {}, (error) => none.resolve(error?.code));
    expect(await none.promise).toBe("ENOTFOUND");
  });

  testWith(
    "unshare",
    "ip",
    "mount",
  )("does not wait for names that no server answers", async () => {
    using folder = temporaryFolder();
    const servers = join(folder.path, "resolv.conf");
    writeFileSync(servers, "nameserver 127.0.0.9\n");
    const apart = ["unshare", "--map-root-user", "--mount", "--net"];
    const program = [process.execPath, join(import.meta.dir, "names.ts"), servers];
    const child = Bun.spawn([...apart, ...program], { stdio: ["ignore", "pipe", "inherit"], timeout: 4_000 });
    expect(await child.stdout.text()).toBe("127.0.0.1\n");
  });
});
