/** What a desk may do on a host, as the command line shows it on both. */
import { expect, test } from "bun:test";
import { joinString, joinWith, tlsServer } from "../desk/join/support";
import { SVC } from "../support";

test("svc desk show, desk set and admin list say what the desk may do on a host, in the words of --allow", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  await joinWith(host, (await joinString(desk)).join_string, { label: "lab" });
  const svc = async ({ configDir }: { readonly configDir: string }, ...words: string[]) => {
    const child = Bun.spawn([...SVC, ...words, "--config-dir", configDir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return child.stdout.text();
  };
  const shown = (allows: string) => new RegExp(`^.* ALLOWS\\n.* lab  .*  ${allows}\\n$`);
  expect(await svc(host, "desk", "show")).toMatch(shown("desk"));
  expect(await svc(desk, "admin", "list")).toMatch(/^LABEL .* ALLOWS\nlab .* {2}desk\n$/);
  expect(await svc(host, "desk", "set", "--allow", "admin")).toEndWith(" may use here: admin\n");
  expect(await svc(host, "desk", "show")).toMatch(shown("admin"));
  await svc(desk, "admin", "poll");
  expect(await svc(desk, "admin", "list")).toMatch(/^LABEL .* ALLOWS\nlab .* {2}admin\n$/);
});
