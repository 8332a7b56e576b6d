/** The address book as an inventory of Ansible and as Host blocks of ssh, which the real programs read. */
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ansibleInventory, sshConfig } from "../../../src/desk/fleet/operations/inventories";

const LINKED = "link:0123456789abcdef0123456789abcdef";

const host = (label: string, base_url: string, tags: string[] = []) => ({
  ...{ label, base_url, tags, trust: "key" as const, pin: null, next_pin: null, allows: null },
});

describe("an inventory of Ansible", () => {
  test("has a group for each tag, and one for hosts without an address", () => {
    const inventory = ansibleInventory([
      host("lab-01", "https://10.0.0.5:9939", ["floor-2", "lab"]),
      host("lab-02", "https://[fd00::7]:9939/svc", ["lab"]),
      host("lab-03", LINKED),
    ]);
    expect(inventory).toMatchObject({
      all: { hosts: ["lab-01", "lab-02", "lab-03"] },
      tag_floor_2: { hosts: ["lab-01"] },
      tag_lab: { hosts: ["lab-01", "lab-02"] },
      svc_dials_desk: { hosts: ["lab-03"] },
    });
    const { hostvars } = inventory._meta;
    expect(hostvars["lab-01"]).toEqual({
      ...{ ansible_host: "10.0.0.5", svc_label: "lab-01", svc_base_url: "https://10.0.0.5:9939" },
      ...{ svc_tags: ["floor-2", "lab"], svc_trust: "key" },
    });
    expect(hostvars["lab-02"]).toMatchObject({ ansible_host: "fd00::7" });
    expect(hostvars["lab-03"]).not.toHaveProperty("ansible_host");
  });

  test("has the state of hosts where they were asked", () => {
    const hosts = [host("up", "http://10.0.0.5"), host("down", "http://10.0.0.6")];
    const polled = [
      { label: "up", healthy: true, error: null },
      { label: "down", healthy: false, error: "timeout after 3 s" },
    ];
    const inventory = ansibleInventory(hosts, polled);
    expect(inventory).toMatchObject({ svc_healthy: { hosts: ["up"] }, svc_unhealthy: { hosts: ["down"] } });
    expect(inventory._meta.hostvars.down).toMatchObject({
      svc_healthy: false,
      svc_error: "timeout after 3 s",
    });
    expect(ansibleInventory(hosts)).not.toHaveProperty("svc_unhealthy");
  });

  test("keeps tags and labels apart that would have one name", () => {
    const inventory = ansibleInventory([
      host("a{", "http://10.0.0.5", ["floor-2"]),
      host("a_", "http://10.0.0.6", ["floor_2"]),
    ]);
    const groups = Object.entries(inventory).filter(([name]) => name.startsWith("tag_"));
    expect(groups).toEqual([
      [
        expect.stringMatching(/^tag_floor_2_[0-9a-f]{8}$/),
        { hosts: [expect.stringMatching(/^a__[0-9a-f]{8}$/)] },
      ],
      ["tag_floor_2", { hosts: ["a_"] }],
    ]);
  });

  test("has, for whatever labels and tags, names of groups that Ansible takes, and no text that is a template", () => {
    const text = fc.string({
      minLength: 1,
      maxLength: 12,
      unit: fc.constantFrom("{", "%", "}", "#", "ü", "-", "1", "a", "😀"),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(text, { maxLength: 5 }),
        fc.array(text, { maxLength: 4 }),
        (labels, tags) => {
          const inventory = ansibleInventory(labels.map((label) => host(label, "http://10.0.0.5", tags)));
          const names = Object.keys(inventory).filter((name) => name !== "_meta");
          // As `to_safe_group_name` of ansible-core has it.
          for (const name of names) expect(name).toMatch(/^[\p{L}_][\p{L}\p{N}_]*$/u);
          expect(Object.keys(inventory._meta.hostvars)).toHaveLength(labels.length);
          expect(Object.keys(inventory._meta.hostvars).join(" ")).not.toMatch(/[{}]/);
          for (const { svc_label } of Object.values(inventory._meta.hostvars))
            if (typeof svc_label === "string") expect(svc_label).not.toMatch(/\{[{%#]/);
        },
      ),
    );
  });
});

test("what ssh could take for an option, a pattern or a command is in a comment", () => {
  const odd = ["-oProxyCommand=x", "a b", "*", "a,b", 'a"b', "$(id)", "a\u001b[2J"];
  const lines = sshConfig(odd.map((label) => host(label, "http://10.0.0.5"))).split("\n");
  expect(lines.filter((line) => line !== "" && !line.startsWith("# "))).toEqual([]);
  expect(sshConfig([host("lab-01", "http://-oproxycommand=x")])).toContain("# lab-01: its address is none");
  expect(sshConfig([host("lab-01", LINKED)])).toContain("# lab-01 dials this desk");
});
