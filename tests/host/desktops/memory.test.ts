import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createMemoryGroups, type MemoryGroup } from "../../../src/host/desktops/memory";
import { temporaryFolder } from "../../support";

const MIB = 1_048_576;

let group: MemoryGroup | undefined;
afterEach(async () => {
  await group?.end();
  group = undefined;
});

/** Whether this process may divide its memory: as root with cgroups 1, or in a group that was given to it. */
const canDivide = (() => {
  try {
    void createMemoryGroups()
      .make(9_999, 64 * MIB)
      .end();
    return true;
  } catch (error) {
    console.info(`skipped: a real control group: ${error}`);
    return false;
  }
})();

const run = (command: readonly string[]) => Bun.spawn([...command], { stdio: ["ignore", "pipe", "ignore"] });

describe.skipIf(!canDivide)("a control group of the kernel", () => {
  const HUNGRY = [
    "/bin/sh",
    "-c",
    "echo begun; head -c 300000000 /dev/zero | tail -c 250000000 >/dev/null; echo $?",
  ];

  test("ends a program that wants more than there is, and counts it", async () => {
    group = createMemoryGroups().make(1, 64 * MIB);
    const printed = await run(group.within(HUNGRY)).stdout.text();
    expect(printed).toStartWith("begun\n");
    expect(printed).not.toBe("begun\n0\n");
    expect(group.use()).toMatchObject({ limit_bytes: 64 * MIB, kills: 1 });
  });

  test("lets one of which there is enough go on", async () => {
    group = createMemoryGroups().make(2, 1_024 * MIB);
    expect(await run(group.within(HUNGRY)).stdout.text()).toBe("begun\n0\n");
    expect(group.use()?.kills).toBe(0);
  });

  test("at its end, ends what took all out of its environment", async () => {
    group = createMemoryGroups().make(3, 64 * MIB);
    const child = run(group.within(["env", "-i", "sleep", "1000"]));
    const first = run(group.within(["/bin/sh", "-c", "echo in"]));
    expect(await first.stdout.text()).toBe("in\n");
    await group.end();
    expect(await child.exited).toBeGreaterThan(128);
  });
});

describe.skipIf(!canDivide)("a group below, which a program has made", () => {
  test("ends with that of the desktop, and what is in it", async () => {
    group = createMemoryGroups().make(4, 64 * MIB);
    const script =
      'below=$(dirname "$0")/below; mkdir "$below"; echo $$ >"$below/cgroup.procs"; echo in; exec sleep 1000';
    const child = run(group.within(["/bin/sh", "-c", 'exec /bin/sh -c "$1" "$0"', procsOf(group), script]));
    const { value } = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toBe("in\n");
    const folder = dirname(procsOf(group));
    await group.end();
    expect(await child.exited).toBeGreaterThan(128);
    expect(existsSync(folder)).toBe(false);
  });
});

/** Where a group says which processes it has. */
const procsOf = (of: MemoryGroup) => of.within([]).at(-1) ?? "";

test("a group that has gone uses nothing", async () => {
  using folder = temporaryFolder();
  const { proc, own } = versionTwo(folder.path, [process.pid]);
  const made = createMemoryGroups(proc).make(9, 64 * MIB);
  // Its folder is there, its files are not: so the end of a group looks.
  expect(existsSync(join(own, `svc-desktop-${process.pid}-9`))).toBe(true);
  expect(made.use()).toBeUndefined();
});

/** A host with cgroups 2, of files; `pids` are in the group of svc. */
function versionTwo(folder: string, pids: readonly number[], controllers = "cpu memory pids") {
  const proc = join(folder, "proc");
  const own = join(folder, "cgroup/user.slice/svc.service");
  mkdirSync(join(proc, "self"), { recursive: true });
  mkdirSync(own, { recursive: true });
  writeFileSync(join(proc, "self/cgroup"), "0::/user.slice/svc.service\n");
  writeFileSync(
    join(proc, "self/mountinfo"),
    `30 23 0:26 / ${folder}/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n`,
  );
  writeFileSync(join(own, "cgroup.controllers"), `${controllers}\n`);
  writeFileSync(join(own, "cgroup.subtree_control"), "");
  writeFileSync(join(own, "cgroup.procs"), pids.map((pid) => `${pid}\n`).join(""));
  return { proc, own };
}

describe("cgroups 2", () => {
  test("svc leaves the group that it divides, and gives each desktop a part", () => {
    using folder = temporaryFolder();
    const { proc, own } = versionTwo(folder.path, [process.pid]);
    createMemoryGroups(proc).make(4, 64 * MIB);
    const at = (...names: string[]) => readFileSync(join(own, ...names), "utf8");
    expect(at("svc/cgroup.procs")).toBe(`${process.pid}`);
    expect(at("cgroup.subtree_control")).toBe("+memory");
    expect(at(`svc-desktop-${process.pid}-4`, "memory.max")).toBe(`${64 * MIB}`);
  });

  test("svc that has gone to a group of its own before divides the one above", () => {
    using folder = temporaryFolder();
    const { proc, own } = versionTwo(folder.path, [process.pid]);
    createMemoryGroups(proc).make(4, 64 * MIB);
    writeFileSync(join(proc, "self/cgroup"), "0::/user.slice/svc.service/svc\n");
    createMemoryGroups(proc).make(8, 64 * MIB);
    expect(existsSync(join(own, `svc-desktop-${process.pid}-8`))).toBe(true);
  });

  test("svc moves no process of others", () => {
    using folder = temporaryFolder();
    const { proc, own } = versionTwo(folder.path, [process.pid, 1]);
    expect(() => createMemoryGroups(proc).make(5, 64 * MIB)).toThrow(
      `process 1 is in ${own} too: run svc as a service`,
    );
    expect(existsSync(join(own, "svc"))).toBe(false);
  });

  test("a group without the controller of memory is none", () => {
    using folder = temporaryFolder();
    const { proc } = versionTwo(folder.path, [process.pid], "cpu pids");
    expect(() => createMemoryGroups(proc).make(6, 64 * MIB)).toThrow(
      "no control group of this process has a controller of memory",
    );
  });

  test("groups of processes that are dead are removed, and those that their programs have made below", () => {
    using folder = temporaryFolder();
    const { proc, own } = versionTwo(folder.path, [process.pid]);
    // No process has that id (proc(5), pid_max).
    mkdirSync(join(own, "svc-desktop-4194305-1/below/below"), { recursive: true });
    createMemoryGroups(proc).make(7, 64 * MIB);
    expect(readdirSync(own)).not.toContain("svc-desktop-4194305-1");
  });
});
