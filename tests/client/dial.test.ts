import { describe, expect, test } from "bun:test";
import type { LookupAddress } from "node:dns";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { lookup } from "../../src/client/dial";
import { TOKEN, temporaryFolder, testServer, testWith } from "../support";

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

testWith("prlimit")(
  "a desk that may open no more files says so of itself, in a poll and before an upgrade: no host has refused it, or is gone",
  async () => {
    await using host = await testServer();
    const program = [
      process.execPath,
      join(import.meta.dir, "without-descriptor.ts"),
      host.server.url,
      TOKEN,
    ];
    const child = Bun.spawn(["prlimit", "--nofile=128:128", ...program], {
      stdio: ["ignore", "pipe", "inherit"],
      timeout: 30_000,
    });
    const { near, missedNear, ...said } = await child.stdout.json();
    const well = {
      polled: [null, "no TLS at this port", null],
      asked: ["unfit", "no TLS at this port", "unfit"],
    };
    const none = Array.from({ length: 3 }, () => "too many open files here");
    expect(said).toEqual({ before: well, without: { polled: none, asked: none }, missed: [], after: well });
    expect(near).toContain("too many open files here");
    expect(near).toContain("connection refused");
    expect(missedNear).toEqual([]);
  },
);
