/** The compiled binary on a laptop, with a desk elsewhere: signing in at a terminal, and plans of that desk. */
import { expect } from "bun:test";
import { join } from "node:path";
import { installBinary, post, serveBinary, TOKEN, temporaryFolder, testWith } from "../support";

/**
 * Runs a command on a terminal of its own (pty(7)), and types `typed` and Enter once `prompt` has appeared there. Prints what the
 * terminal showed, and ends with the exit code of the command.
 */
const AT_A_TERMINAL = `
import os, pty, sys
prompt, typed, *words = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(words[0], words)
shown = b""
while True:
    try:
        some = os.read(terminal, 4096)
    except OSError:
        break
    if not some:
        break
    shown += some
    if prompt and prompt.encode() in shown:
        os.write(terminal, typed.encode() + b"\\r")
        prompt = ""
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

testWith("python3")(
  "svc login asks for the token at a terminal, and does not show it",
  async () => {
    using laptop = installBinary();
    await using desk = await serveBinary();
    const signIn = (typed: string) =>
      laptop.run(["login", desk.url, "--name", "lab"], {
        before: ["python3", "-c", AT_A_TERMINAL, "token", typed],
        env: { SVC_DESK_TOKEN: undefined },
      });
    const wrong = await signIn("not-its-token");
    expect(wrong.exitCode).toBe(1);
    expect(wrong.stdout).toContain("refuses the token");
    const { stdout, exitCode } = await signIn(TOKEN);
    expect(stdout).toContain("logged in to");
    expect(exitCode).toBe(0);
    for (const shown of [wrong.stdout, stdout]) expect(shown).not.toMatch(/not-its-token|test-token/);
    expect((await laptop.run(["--desk", "lab", "status"])).exitCode).toBeLessThan(3);
  },
  60_000,
);

testWith()(
  "svc login takes SVC_DESK_TOKEN before standard input",
  async () => {
    using laptop = installBinary();
    await using desk = await serveBinary();
    const { stderr, exitCode } = await laptop.run(["login", desk.url, "--name", "lab"], {
      env: { SVC_DESK_TOKEN: TOKEN },
    });
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  },
  60_000,
);

testWith()(
  "a plan is made, applied, followed and listed on a desk elsewhere",
  async () => {
    using laptop = installBinary();
    using folder = temporaryFolder();
    await using host = await serveBinary(["--rate-limit", "0"]);
    await using desk = await serveBinary(["--rate-limit", "0"]);
    await desk.call("/admin/hosts/add", post({ label: "a", base_url: host.url, token: TOKEN, tags: [] }));
    await laptop.run(["login", desk.url, "--name", "lab"], { env: { SVC_DESK_TOKEN: TOKEN } });
    const file = join(folder.path, "wait.json");
    await Bun.write(file, '[["AC_sleep", {"seconds": 1}]]');
    const made = await laptop.run(["--desk", "lab", "plan", "new", file, "--on", "all"]);
    const [, id = "", digest = ""] = /plan apply (\S+) --digest (\S+)/.exec(made.stdout) ?? [];
    expect(id).not.toBe("");
    const watching = laptop.run(["--desk", "lab", "plan", "show", id, "--watch", "--interval", "1"], {
      before: ["timeout", "--signal=INT", "4"],
    });
    const applied = await laptop.run(["--desk", "lab", "plan", "apply", id, "--digest", digest]);
    expect(applied).toMatchObject({ exitCode: 0, stdout: `plan ${id}: done; 1 host: 1 ok\n` });
    expect((await watching).stdout).toContain("done; 1 host: 1 ok");
    const here = await laptop.run(["plan", "list", "--json"]);
    expect(JSON.parse(here.stdout)).toMatchObject({ plans: [] });
    const there = await laptop.run(["plan", "list", "--json"], { env: { SVC_DESK: "lab" } });
    expect(JSON.parse(there.stdout)).toMatchObject({ plans: [{ id, state: "done" }] });
  },
  60_000,
);
