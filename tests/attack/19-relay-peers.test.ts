// A client of the relay names 168.63.129.16 as a peer: services of the host in Azure, behind an address that looks public.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary } from "../support";

test("the configuration of a relay refuses the host services of Azure, and names the coturn to use", async () => {
  using svc = installBinary();
  const args = ["turn", "--realm", "relay.test", "--user", "lab", "--output-dir", "relay"];
  expect((await svc.run(args)).exitCode).toBe(0);
  const text = (name: string) => readFileSync(join(svc.path, "relay", name), "utf8");
  expect(text("turnserver.conf")).toContain("denied-peer-ip=168.63.129.16-168.63.129.16\n");
  expect(text("turnserver.conf")).toContain("Use coturn 4.16 or later.");
  expect(text("docker-compose.yml")).toContain("add the digest");
});
