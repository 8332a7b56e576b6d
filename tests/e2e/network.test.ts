/** docs/security.md, "What goes out": nothing that nobody asked for. */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, TOKEN, temporaryFolder, testWith } from "../support";

testWith("strace")(
  "a server that is started, looked at and stopped connects to nobody",
  async () => {
    using folder = temporaryFolder();
    const calls = join(folder.path, "calls");
    const traced = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", calls];
    const serve = [BINARY, "serve", "--port", "0", "--json", "--config-dir", join(folder.path, "config")];
    const child = Bun.spawn([...traced, ...serve], {
      env: { ...process.env, SVC_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { value } = await child.stdout.getReader().read();
    const { url, pid }: { url: string; pid: number } = JSON.parse(new TextDecoder().decode(value));
    const headers = { authorization: `Bearer ${TOKEN}` };
    for (const path of ["/dashboard", "/docs", "/openapi.json", "/overview", "/metrics", "/sessions"]) {
      expect([path, (await fetch(url + path, { headers })).status]).toEqual([path, 200]);
    }
    process.kill(pid, "SIGTERM");
    await child.exited;
    // Bun answers on connections with send(2), which is sendto(2) without an address.
    const outward = /connect\(|sin6?_addr|sun_path/;
    expect(
      readFileSync(calls, "utf8")
        .split("\n")
        .filter((line) => outward.test(line)),
    ).toEqual([]);
  },
  30_000,
);
