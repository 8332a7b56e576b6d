/** An agent fills in a form once; what it did is kept as a script, done again without it, and mended where the form has changed. */
import { expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAMS, startSession } from "../host/desktop/elements/support";
import { dataIn, startAgent } from "../host/mcp/support";
import { installBinary, testWith, until } from "../support";

setDefaultTimeout(240_000);
const SECRET = "hunter4711";

testWith(...PROGRAMS)(
  "what an agent did is kept as a script, runs without it, and asks to be mended",
  async () => {
    await using session = await startSession();
    using installed = installBinary();
    const { env, elements } = session;
    const folder = join(installed.path, "config");
    const svc = async (...words: string[]) => {
      const {
        stdout: out,
        stderr: said,
        exitCode: code,
      } = await installed.run([...words, "--config-dir", folder], { env });
      return { out, said, code };
    };
    const open = (ok: string) =>
      session.start(
        ...["zenity", "--forms", "--title=Order", "--text=New order", "--add-entry=Customer"],
        ...["--add-password=PIN", `--ok-label=${ok}`],
      );
    const gone = () =>
      until("no form", async () => (await elements.find({ name: "Customer" }, 1)).elements.length === 0);

    const form = open("Save order");
    const plain = Object.fromEntries(
      Object.entries(env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])),
    );
    const command = [
      join(installed.path, "svc"),
      "mcp",
      "--toolsets",
      "desktop",
      "--write",
      "--config-dir",
      folder,
    ];
    {
      await using agent = await startAgent(command, plain);
      const lines = await until("the form", async () => {
        const { lines: all } = dataIn((await agent.call("desktop_snapshot")).text) as { lines: string[] };
        return all.some((line) => line.includes("Save order")) && all;
      });
      const ref = (words: string) =>
        /\[(e\d+)\]$/.exec(lines.find((line) => line.includes(words)) ?? "")?.[1] ?? words;
      const { digest } = await agent.propose("desktop_act", {
        steps: [
          { do: "set_text", element: ref("Customer"), text: "ACME" },
          { do: "set_text", element: ref("PIN"), text: SECRET },
          { do: "press", element: ref("Save order") },
        ],
      });
      expect((await agent.call("confirm", { digest })).isError).toBe(false);
      expect(await form.stdout.text()).toBe(`ACME|${SECRET}\n`);
      // An agent makes a draft, and stores nothing.
      const kept = await agent.propose("mcp_keep", { session: "last", name: "order" });
      const answer = await agent.call("confirm", { digest: kept.digest });
      expect(answer.text).toContain('"draft"');
    }
    expect((await svc("scripts", "list", "--json")).out).toContain('"count":0');
    const sessions = await svc("mcp", "sessions");
    expect(sessions.out).toContain('press element button "Save order" app "zenity"');

    const made = await svc("mcp", "keep", "last", "order", "--yes");
    expect([made.code, made.said]).toEqual([0, expect.stringContaining("whoever runs it gives pin")]);
    const actions = made.out.split("\n").filter((line) => line.startsWith("+ ["));
    expect(made.out).toContain('+ parameter customer = "ACME"');
    expect(actions[0]).toBe(
      '+ ["AC_set_element_text",{"element":"textbox \\"Customer\\" app \\"zenity\\"","text":"${customer}","timeout":10,"input":"program"}]',
    );
    expect(made.out).toContain('"text":"${pin}"');
    expect(made.out).toContain(
      '+ ["AC_press_element",{"element":"button \\"Save order\\" app \\"zenity\\"","timeout":10,"input":"program"}]',
    );
    // Nothing that was typed into the secret field is on disk.
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes(SECRET)).toBe(false);

    await gone();
    for (const customer of ["ACME", "Umbrella"]) {
      const again = open("Save order");
      const ran = await svc("scripts", "run", "order", "--var", `customer=${customer}`, "--var", "pin=p2222");
      expect([ran.code, ran.said]).toEqual([0, ""]);
      expect(await again.stdout.text()).toBe(`${customer}|p2222\n`);
      await gone();
    }

    const renamed = open("Send order");
    const failed = await svc("scripts", "run", "order", "--var", "pin=p2222", "--json");
    expect(failed.code).toBe(1);
    const { mend } = JSON.parse(failed.out);
    expect(mend).toMatchObject({ command: "AC_press_element", problem: "missing", windows: [] });
    expect(mend.expected).toBe('button "Save order" app "zenity"');
    expect(mend.there[0]).toBe('button "Send order" window "Order"');
    expect(Buffer.byteLength(JSON.stringify(mend))).toBeLessThanOrEqual(2_048);
    expect(failed.said).toContain("mend request:");

    const change = await svc("scripts", "mend", "order", mend.expected, mend.there[0]);
    expect(change.out).toContain('- ["AC_press_element",{"element":"button \\"Save order\\"');
    expect(change.out).toContain(
      '+ ["AC_press_element",{"element":"button \\"Send order\\" window \\"Order\\""',
    );
    const [, draft = ""] = /svc scripts store (\w+)/.exec(change.out) ?? [];
    expect((await svc("scripts", "store", draft)).code).toBe(0);
    const mended = await svc("scripts", "run", "order", "--var", "pin=p3333");
    expect([mended.code, mended.said]).toEqual([0, ""]);
    expect(await renamed.stdout.text()).toBe("ACME|p3333\n");
  },
);
