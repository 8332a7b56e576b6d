/**
 * The day of somebody who calls svc from shell scripts, with the compiled binary: `set -eu`, exit codes, pipes, JSON
 * without any other tool, no home, Ctrl-C in a loop. What a script prints is compared line by line.
 */
import { expect } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, testWith, until } from "../support";

/** Starts `script` as `sh` in the folder of `machine`, with `svc` on its PATH; `before` is a command line in front. */
function sh(machine: { readonly path: string }, script: string, ...before: string[]) {
  writeFileSync(join(machine.path, "script.sh"), script);
  return Bun.spawn([...before, "sh", "-eu", "script.sh"], {
    cwd: machine.path,
    env: { PATH: `${machine.path}:${process.env.PATH}`, HOME: machine.path },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function ranBy(child: ReturnType<typeof sh>) {
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { lines: stdout.trimEnd().split("\n"), stderr, exitCode: await child.exited };
}

testWith("sh", "sed")(
  "a script decides by exit codes, reads JSON with sed, and stops at the first failure nobody asked about",
  async () => {
    using machine = installBinary();
    const ran = await ranBy(
      sh(
        machine,
        `
# 0: done and good. 1: done, and the answer is bad. 2: the call was wrong.
if svc diagnose --only mouse > report; then echo fit; else echo "unfit: $?"; fi
grep -o 'DISPLAY is not set' report
svc diagnose --skip screenshot,mouse > report
code=0; svc execute nightly.json 2> complaint || code=$?
echo "$code $(sed 's/^svc: //; s#/.*/##' complaint)"

# One value of the JSON, which is one line on stdout also when it failed.
svc execute '[["AC_set_var", ["n", 3]]]' --json | sed -n 's/.*"status":"\\([a-z]*\\)".*/\\1/p'
if answer=$(svc execute nightly.json --json); then exit 9; fi
echo "$answer" | sed 's/.*"error":"\\([^/]*\\).*/\\1/'

# Into a pipe, out of one, and out of one whose reader leaves early.
svc commands | grep -x AC_set_var
svc commands | head -n 1 > first
svc execute - --var who="Ann B" --json << 'END' | sed -n 's/.*"result":\\("[^"]*"\\).*/\\1/p'
[["AC_set_var", ["text", "\${who}"]]]
END
printf '%s\\n' one two | while read -r step; do svc audit log step --detail "$step" > row; done
svc audit export - | sed -n 's/.*"event_type": *"step".*"detail": *"\\([a-z]*\\)".*/\\1/p'
svc audit export log.jsonl | sed 's/.*  [0-9][0-9]* /N /'
svc audit verify --file log.jsonl | sed 's/[0-9][0-9]*/N/'

# The same configuration everywhere: only where something would change.
echo its-token-0123456789 | svc admin add lab http://127.0.0.1:9 > host
svc config export wanted.json 2> warning
grep -c 'not encrypted' warning
svc config import wanted.json --dry-run --exit-code | head -n 1
svc admin tag lab changed > host
code=0; svc config import wanted.json --dry-run --exit-code > diff || code=$?
echo "drift: $code"
[ "$code" -ne 3 ] || svc config import wanted.json > diff
svc config import wanted.json --dry-run --exit-code > diff

# Nobody asked about this one.
svc admin poll > poll
echo "not reached"
`,
      ),
    );
    expect(ran).toEqual({
      lines: [
        "unfit: 1",
        "DISPLAY is not set",
        "2 script: there is no file nightly.json",
        "ok",
        "script: there is no file ",
        "AC_set_var",
        '"Ann B"',
        "one",
        "two",
        "N rows",
        "Chain OK (N rows)",
        "wanted.json: admin_hosts.json",
        "1",
        "unchanged  admin_hosts.json",
        "drift: 3",
      ],
      stderr: "",
      exitCode: 1,
    });
  },
  180_000,
);

testWith("sh")(
  "a script without a home asks what needs none, and leaves nothing behind",
  async () => {
    using machine = installBinary();
    const ran = await ranBy(
      sh(
        machine,
        `
HOME=$PWD/none
svc commands --json > commands
svc usb list > devices 2> warnings
svc execute '[["AC_sleep", [0]]]' --check
svc admin list
svc history
svc audit list
test ! -e none
unset HOME
svc completion bash > completion
`,
      ),
    );
    expect(ran).toEqual({
      lines: [
        "no errors; actions: 1; nothing has run",
        "no hosts: `svc admin add` adds one",
        "no runs",
        "no rows",
      ],
      stderr: "",
      exitCode: 0,
    });
  },
  30_000,
);

testWith("sh", "setsid")(
  "Ctrl-C in a loop ends the run and the loop, and the run is on record as cancelled",
  async () => {
    using machine = installBinary();
    const actions = '[["AC_shell_command", ["touch started"]], ["AC_sleep", [600]]]';
    const loop = `while :; do svc execute '${actions}' --allow-shell || echo next; done`;
    const child = sh(machine, loop, "setsid");
    await until("the run", () => existsSync(join(machine.path, "started")));
    process.kill(-child.pid, "SIGINT");
    const { lines } = await ranBy(child);
    expect(child.signalCode).toBe("SIGINT");
    expect(lines.at(-1)).toStartWith("FAILED  ");
    const past = await ranBy(sh(machine, 'svc history --json | sed \'s/.*"status":"\\([a-z]*\\)".*/\\1/\''));
    expect(past).toEqual({ lines: ["cancelled"], stderr: "", exitCode: 0 });
  },
  30_000,
);
