/** The lists of docs/inventories.md, as Ansible and ssh read them from the compiled binary. */
import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, serveBinary, testWith } from "../support";
import { blocksOf, readPage } from "./pages";

/** The script of the page, in the folder of the binary; the folder is where it finds `svc`. */
function writeScript(folder: string): string {
  const code =
    blocksOf(readPage("docs/inventories.md")).find(({ code }) => code.startsWith("#!"))?.code ?? "";
  const file = join(folder, "svc-hosts");
  writeFileSync(file, code);
  chmodSync(file, 0o755);
  return file;
}

testWith("ansible-inventory")(
  "ansible-inventory reads the script of the page: groups, variables and states",
  async () => {
    await using up = await serveBinary();
    using svc = installBinary();
    const hosts = [
      { label: "lab-01", base_url: up.url, token: up.token, tags: ["lab", "floor-2"] },
      {
        label: "{{ 6 * 7 }}",
        base_url: "http://127.0.0.1:1",
        token: "a-token-of-it",
        tags: ["floor_2"],
      },
    ];
    writeFileSync(join(svc.path, "hosts.json"), JSON.stringify({ hosts }));
    expect(await svc.run(["admin", "import", "hosts.json"])).toMatchObject({ exitCode: 0 });
    const script = writeScript(svc.path);
    const run = async (program: string, ...args: string[]) => {
      // Ansible refuses pipes that do not block, which are those of a child of Bun.
      const child = Bun.spawn(
        ["sh", "-c", '"$@" 2>&1 </dev/null | cat', "sh", program, "-i", script, ...args],
        {
          cwd: svc.path,
          env: {
            ...process.env,
            PATH: `${svc.path}:${process.env.PATH}`,
            SVC_CONFIG_DIR: svc.configDir,
            HOME: svc.path,
            LC_ALL: "C.UTF-8",
            ANSIBLE_NOCOLOR: "1",
          },
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      return child.stdout.text();
    };
    const graph = await run("ansible-inventory", "--graph");
    expect(graph).not.toMatch(/WARNING|ERROR/);
    expect(JSON.parse(await run("ansible-inventory", "--list"))).toMatchObject({
      tag_lab: { hosts: ["lab-01"] },
      svc_healthy: { hosts: ["lab-01"] },
      svc_unhealthy: { hosts: ["__ 6 * 7 __"] },
    });
    expect(JSON.parse(await run("ansible-inventory", "--host", "lab-01"))).toMatchObject({
      ...{ ansible_host: "127.0.0.1", svc_base_url: up.url, svc_tags: ["lab", "floor-2"], svc_healthy: true },
    });
    // What a label says is text, also where a playbook prints it.
    const said = await run(
      "ansible",
      "svc_unhealthy",
      "-c",
      "local",
      "-m",
      "debug",
      "-a",
      "msg={{ svc_label }}",
    );
    expect(said).toContain("{{ 6 * 7 }}");
  },
  120_000,
);

testWith("ssh")("ssh reads the Host blocks", async () => {
  using svc = installBinary();
  const book = {
    hosts: [
      { label: "Lab-01", base_url: "https://10.0.0.5:9939", token: "a-token-of-it" },
      { label: "lab-02", base_url: "https://[fd00::7]:9939", token: "a-token-of-it" },
      { label: "lab 03", base_url: "https://10.0.0.7:9939", token: "a-token-of-it" },
    ],
  };
  writeFileSync(join(svc.path, "hosts.json"), JSON.stringify(book));
  expect(await svc.run(["admin", "import", "hosts.json"])).toMatchObject({ exitCode: 0 });
  const { stdout } = await svc.run(["admin", "list", "--format", "ssh_config"]);
  writeFileSync(join(svc.path, "svc_hosts"), stdout, { mode: 0o600 });
  const addressOf = async (name: string) => {
    const child = Bun.spawn(["ssh", "-T", "-G", "-F", "svc_hosts", name], {
      cwd: svc.path,
      stdio: ["ignore", "pipe", "inherit"],
    });
    return /^hostname (.*)$/m.exec(await child.stdout.text())?.[1];
  };
  expect(await Promise.all(["Lab-01", "lab-02", "other"].map(addressOf))).toEqual([
    "10.0.0.5",
    "fd00::7",
    "other",
  ]);
  expect(stdout).toContain("# lab 03 is no name for ssh: its address is 10.0.0.7");
});

test("what goes with one format only is refused with another", async () => {
  using svc = installBinary();
  const said = async (...args: string[]) => {
    const { stderr, exitCode } = await svc.run(["admin", "list", ...args]);
    return [exitCode, stderr];
  };
  expect(await said("--poll")).toEqual([2, "svc: --poll: works with --format ansible\n"]);
  expect((await said("--format", "ssh_config", "--json"))[0]).toBe(2);
  expect(await said("--format", "ansible", "--host", "no")).toEqual([
    1,
    "svc: no host of the inventory is named no\n",
  ]);
  expect(await said("--format", "ansible", "--list", "--host", "no")).toEqual([
    2,
    "svc: --list, --host: expected one of them\n",
  ]);
});
