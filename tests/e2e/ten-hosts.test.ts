/**
 * docs/ten-hosts.md, walked: its code blocks run as they stand on a desk and on ten hosts, each behind a router of its own that translates
 * addresses. Then a browser on the desk sees the screen of one.
 */
import { expect } from "bun:test";
import { chmodSync, constants, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { launchBrowser, openPage, useBrowser } from "../browser";
import { blocksOf, readPage } from "../docs/pages";
import { PROGRAMS as DESKTOP, startDisplay } from "../host/desktop/support";
import { BINARY, temporaryFolder, testWith } from "../support";
import { DESK, PROGRAMS, startNetworks } from "./behind-nat";

const HOSTS = Array.from({ length: 10 }, (_, nth) => `pc-${nth + 1}`);

/** Starts the service in the background, as `systemctl --user enable --now` does, and notes its process. */
const SYSTEMCTL = `#!/bin/sh
set -eu
[ "$*" = "--user enable --now svc.service" ] || exit 0
program=$(sed -n 's/^ExecStart=//p' ~/.config/systemd/user/svc.service)
setsid sh -c "exec $program" >~/svc.log 2>&1 </dev/null &
echo $! >~/pid
until [ -e ~/.svc/run/rest.json ]; do sleep 0.05; done
`;

/** 3 s, and as many times as long as this machine has more to do than it has processors. */
const withinMs = () => 3_000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

/** How many commands of svc a reader types. */
const commandsIn = (blocks: readonly string[]) => blocks.join("").match(/^\(?.*\.\/svc /gm)?.length;

let program = "";
const browser = useBrowser(() => launchBrowser(program));

testWith("chromium", ...PROGRAMS, ...DESKTOP)(
  "ten hosts behind NAT run a program in a plan after seven commands on the desk and two on each, and one shows its screen",
  async () => {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(temporaryFolder());
    const at = (...names: string[]) => join(folder.path, ...names);
    const networks = stack.use(await startNetworks(...HOSTS));
    const display = stack.use(await startDisplay());
    for (const name of ["bin", "desk", ...HOSTS]) {
      mkdirSync(at(name));
      if (name !== "bin") copyFileSync(BINARY, at(name, "svc"), constants.COPYFILE_FICLONE);
    }
    const executable = (name: string, text: string) => {
      writeFileSync(at("bin", name), text);
      chmodSync(at("bin", name), 0o700);
    };
    executable("systemctl", SYSTEMCTL);
    executable("hostname", '#!/bin/sh\nbasename "$HOME"\n');
    executable("xdg-open", `#!/bin/sh\necho "$1" >'${at("opened")}'\n`);
    stack.defer(() => {
      for (const name of ["desk", ...HOSTS]) {
        try {
          process.kill(Number(readFileSync(at(name, "pid"), "utf8")), "SIGKILL");
        } catch {
          // It was not started.
        }
      }
    });
    const run = async (space: string, code: string, env: NodeJS.ProcessEnv = {}) => {
      const child = Bun.spawn([...networks.within(space), "bash", "-euc", `exec 2>&1\n${code}`], {
        cwd: at(space),
        env: { HOME: at(space), PATH: `${at("bin")}:${process.env.PATH}`, ...env },
        stdio: ["ignore", "pipe", "inherit"],
      });
      const printed = await child.stdout.text();
      expect({ space, exitCode: await child.exited, printed }).toMatchObject({ exitCode: 0 });
      return printed;
    };

    const page = readPage("docs/ten-hosts.md").replaceAll("desk.example", DESK);
    const blocks = blocksOf(page).flatMap(({ language, code }) => (language === "sh" ? code : []));
    const [desk = "", host = "", plan = "", apply = "", screen = "", ...rest] = blocks;
    expect([rest, commandsIn([host]), commandsIn([desk, plan, apply, screen])]).toEqual([[], 2, 7]);

    await run("desk", desk);
    for (const name of HOSTS) copyFileSync(at("desk", "join-string"), at(name, "join-string"));
    const env = { DISPLAY: display.env.DISPLAY };
    for (const name of HOSTS) {
      const said = await run(name, host, env);
      expect(said).toContain(`joined the desk at ${DESK}:9939 as ${name}; this host dials it`);
    }
    const made = await run("desk", plan);
    expect(made).toContain("10 of 10 healthy");
    const command = /plan apply (\S+) --digest (\S+)/.exec(made) ?? [];
    const applied = apply.replace("7d3f0c52", String(command[1])).replace("9f86d0…", String(command[2]));
    expect(await run("desk", applied)).toMatch(/\b10 ok\b/);
    const runs = await run("desk", "./svc history --source plan --on all --json");
    expect(runs.match(/"status":\s*"ok"/g)).toHaveLength(10);
    const shown = await run("desk", screen, { BROWSER: "", DISPLAY: ":1" });
    expect(shown).toContain("opened in the browser");

    program = at("bin", "chromium");
    executable(
      "chromium",
      `#!/bin/sh\nexec ${networks.within("desk").join(" ")} ${Bun.which("chromium")} "$@"\n`,
    );
    const token = shown.split("\n")[0] ?? "";
    const url = readFileSync(at("opened"), "utf8").trim();
    // The browser runs already, as that of a person does.
    await (await browser.newContext()).close();
    const began = performance.now();
    await using tab = await openPage(browser, url, { token, ignoreHTTPSErrors: true });
    await tab.page.getByText("view only").waitFor();
    const took = performance.now() - began;
    console.info(`from the address to the first picture: ${Math.round(took)} ms`);
    // It counts signing in and the page itself, which live-nat.test.ts does not.
    expect(took).toBeLessThan(2 * withinMs());
    expect(tab.complaints).toEqual([]);
  },
  180_000,
);
