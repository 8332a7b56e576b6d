/** The container image: its configuration as skopeo reads it, and its files, unpacked by umoci and run. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { dockerfileOf, makeImage, RUNS } from "../../build/package/image";
import { release } from "../../build/package/release";
import { BINARY, temporaryFolder, testWith, until } from "../support";

const testImage =
  process.getuid?.() === 0
    ? testWith("mmdebstrap", "skopeo", "umoci", "chroot", "unshare", "nsenter")
    : test.skip;

testImage(
  "the image has a user of its own, a volume and a health check, and its health check finds its server",
  async () => {
    using folder = temporaryFolder();
    const built = { binary: BINARY, bom: `${BINARY}.cdx.json` };
    const own = await release();
    const image = await makeImage(own, "linux-x64", built, { out: folder.path, effort: "fast" });

    const config = await $`skopeo inspect --config --raw oci-archive:${image}`.json();
    expect(config).toMatchObject({ architecture: "amd64", os: "linux", config: RUNS });

    const layout = join(folder.path, "layout");
    mkdirSync(layout);
    await $`tar --extract --file ${image} --directory ${layout}`;
    const bundle = join(folder.path, "bundle");
    await $`umoci unpack --image ${`${layout}:${own.version}`} ${bundle}`.quiet();
    const root = join(bundle, "rootfs");
    await $`cmp ${BINARY} ${join(root, "usr/local/bin/svc")}`;
    expect((await $`stat --format=%u:%g:%a ${join(root, "data")}`.text()).trim()).toBe("10001:10001:700");

    // What a runtime does: its own processes, /proc, the user and the environment of the image.
    const inside = (command: readonly string[]) => [
      ...["chroot", `--userspec=${RUNS.User}`, "--groups=", root],
      ...["/usr/bin/env", "-i", ...RUNS.Env, ...command],
    ];
    const serve = inside([...RUNS.Entrypoint, ...RUNS.Cmd, "--port", "0"]);
    const script = `mount -t proc proc "$0/proc" && mkdir -p "$0/dev" && mount --rbind /dev "$0/dev" && exec "$@"`;
    const spaces = ["--mount", "--pid", "--fork"];
    const server = Bun.spawn(["unshare", ...spaces, "sh", "-c", script, root, ...serve], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    await using stack = new AsyncDisposableStack();
    const children = `/proc/${server.pid}/task/${server.pid}/children`;
    const initOf = () => Number(readFileSync(children, "utf8").trim());
    stack.defer(async () => {
      // With the first process, all of its namespace goes. `--kill-child` is lost when chroot changes the user (prctl(2)).
      const init = server.exitCode === null ? initOf() : 0;
      if (init > 0) process.kill(init, "SIGKILL");
      else server.kill("SIGKILL");
      await server.exited;
    });
    await until("the server", () => Bun.file(join(root, "data/run/rest.json")).exists(), { seconds: 120 });
    const [, ...check] = RUNS.Healthcheck.Test;
    const asked = await $`nsenter -t ${initOf()} --mount --pid ${inside(check)}`.quiet().nothrow();
    expect([asked.exitCode, asked.stdout.toString()]).toEqual([0, expect.stringContaining("ok")]);
  },
  900_000,
);

test("the Dockerfile says the same as the image's configuration", () => {
  const text = dockerfileOf();
  expect(text).toContain(`\nENTRYPOINT ${JSON.stringify(RUNS.Entrypoint)}\n`);
  expect(text).toContain(`\nCMD ${JSON.stringify(RUNS.Cmd)}\n`);
  expect(text).toContain(`\nUSER ${RUNS.User}\n`);
});
