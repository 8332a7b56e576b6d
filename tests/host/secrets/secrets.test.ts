/** The secrets of a host: what keeps them, who may use which, and that no value shows anywhere. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { localCaller } from "../../../src/core/caller";
import { allows, limitedTo, type Scope } from "../../../src/core/rights";
import { listSecrets } from "../../../src/host/secrets/operations";
import { createSecrets } from "../../../src/host/secrets/secrets";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import type { Service } from "../../../src/service/service";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { post, runActions, temporaryFolder, testServer, testService } from "../../support";

const VALUE = "pa55-of-the-crm";

async function withSecret(options: Parameters<typeof testService>[0] = {}) {
  const made = testService(options);
  await (await made.service.secrets()).set("crm_password", VALUE, null);
  return made;
}

/** What all files of a folder hold, as one text. */
function allFiles(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
    .join("\n");
}

const caller = (service: Service, scopes: readonly Scope[]) =>
  localCaller(service, "api", { grant: { name: "crm", scopes } });

const storeIn = (configDir: string, credentials?: string) => {
  const { secrets: file, secretsLock: lock, secretsKey: key } = configFiles(configDir);
  return createSecrets({ file, lock, key }, silentLog, credentials);
};

describe("the store", () => {
  test("has values as ciphertext alone, in private files, and gives them back", async () => {
    await using made = await withSecret();
    const files = configFiles(made.configDir);
    for (const file of [files.secrets, files.secretsKey]) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(files.secretsKey, "utf8")).toMatch(/^AGE-SECRET-KEY-1/);
    expect(allFiles(made.configDir)).not.toContain(VALUE);
    expect(await storeIn(made.configDir).read(["crm_password"])).toEqual(new Map([["crm_password", VALUE]]));
  });

  test("lists names, times and who set them", async () => {
    await using made = await withSecret();
    const store = await made.service.secrets();
    await store.set("crm_user", "alice-of-sales", "ann");
    expect(store.list()).toEqual([
      { name: "crm_password", source: "store", set: expect.any(String), by: "owner", last_used: null },
      { name: "crm_user", source: "store", set: expect.any(String), by: "ann", last_used: null },
    ]);
  });

  test("with another key than the one it was made with reads nothing, and says how to go on", async () => {
    await using made = await withSecret();
    const { secretsKey } = configFiles(made.configDir);
    const { generateX25519Identity } = await import("age-encryption");
    writeFileSync(secretsKey, await generateX25519Identity());
    const store = storeIn(made.configDir);
    expect(store.read(["crm_password"])).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("cannot be decrypted with the key in secrets_key"),
    });
    expect(await store.faults()).toEqual([{ name: "crm_password", why: expect.any(String) }]);
  });

  test("has the credentials of systemd too, which nobody changes here", async () => {
    using folder = temporaryFolder();
    using credentials = temporaryFolder();
    writeFileSync(join(credentials.path, "db.password"), "from-systemd\n");
    writeFileSync(join(credentials.path, "not a name"), "x");
    const store = storeIn(folder.path, credentials.path);
    expect(store.list()).toEqual([
      { name: "db.password", source: "systemd", set: expect.any(String), by: "systemd", last_used: null },
    ]);
    expect((await store.read(["db.password"])).get("db.password")).toBe("from-systemd");
    expect(store.set("db.password", "another", null)).rejects.toMatchObject({ code: "conflict" });
    expect(store.remove("db.password")).rejects.toMatchObject({ code: "conflict" });
  });

  test("leaves out of a listing what a token may not use", async () => {
    await using made = await withSecret();
    await (await made.service.secrets()).set("erp", "other-value", null);
    const { secrets } = await listSecrets.run(
      made.service,
      {},
      caller(made.service, ["read", "secret:crm_*"]),
    );
    // Which tokens there are is for `admin`.
    expect(secrets).toMatchObject([{ name: "crm_password", tokens: null }]);
  });

  test("says which tokens may use each, for the owner", async () => {
    await using made = await withSecret();
    await (await made.service.secrets()).set("erp", "other-value", null);
    const tokens = tokenStore(configFiles(made.configDir), silentLog);
    const all: Array<[string, Scope[]]> = [
      ["crm", ["operate", "secret:crm_*"]],
      ["night", ["run:nightly", "secret:erp"]],
      ["reader", ["read"]],
      ["chief", ["admin"]],
    ];
    for (const [name, scope] of all) await addToken(tokens, { name, scope });
    const { secrets } = await listSecrets.run(made.service, {}, localCaller(made.service, "api"));
    expect(secrets.map(({ name, tokens }) => [name, tokens])).toEqual([
      ["crm_password", ["crm", "chief"]],
      ["erp", ["night", "chief"]],
    ]);
  });

  test("notes the day of a run that uses one, once, and keeps it with a new value", async () => {
    await using made = await withSecret();
    const { secrets: file } = configFiles(made.configDir);
    const use = () =>
      runActions(made.service, [["AC_set_var", { name: "a", value: "${secret:crm_password}" }]]);
    expect((await use()).status).toBe("ok");
    const store = await made.service.secrets();
    const today = new Date().toISOString().slice(0, 10);
    expect(store.list()).toMatchObject([{ last_used: today }]);
    const { ino } = statSync(file);
    await use();
    expect(statSync(file).ino).toBe(ino);
    expect(await store.set("crm_password", "another-value", null)).toMatchObject({ last_used: today });
  });
});

describe("a script", () => {
  test("reads a secret when it runs, and its answer has *** in its place", async () => {
    await using made = await withSecret({ allow_shell: true });
    const { outcomes } = await runActions(made.service, [
      ["AC_set_var", { name: "copy", value: "${secret:crm_password}" }],
      ["AC_assert", { name: "copy", op: "eq", value: VALUE }],
      [
        "AC_shell_command",
        {
          shell_command: 'printf %s "$P"; cat; exit 3',
          env: { P: "${secret:crm_password}" },
          stdin: "<${copy}>",
        },
      ],
    ]);
    expect(outcomes[1]).toMatchObject({ ok: true });
    expect(outcomes[0]).toMatchObject({ result: "***" });
    expect(outcomes[2]).toMatchObject({ error: "exit code 3", detail: { stdout: "***<***>" } });
  });

  test("that names one which there is not fails before its first action, and names it", async () => {
    await using made = await withSecret();
    const { service } = made;
    const list = [["AC_set_var", { name: "a", value: "${secret:crm_pasword}" }]];
    expect(runActions(service, list)).rejects.toMatchObject({
      code: "bad_input",
      message: "unknown secret: crm_pasword (did you mean crm_password?)",
    });
    expect((await service.runs()).list()).toEqual([]);
  });

  test("of a token without its scope fails before it begins, and the message has the scope", async () => {
    await using made = await withSecret();
    const { service } = made;
    const list = [["AC_set_var", { name: "a", value: "${secret:crm_password}" }]];
    const run = (scopes: readonly Scope[]) => runActions(service, list, {}, caller(service, scopes));
    expect(run(["operate", "secret:erp_*"])).rejects.toMatchObject({
      code: "forbidden",
      message: "this run allows operate, secret:erp_*, but ${secret:crm_password} needs secret:crm_password",
    });
    expect((await service.runs()).list()).toEqual([]);
    for (const scope of ["secret:crm_*", "secret:*", "secret:crm_password", "admin"] as const)
      expect(await run(["operate", scope])).toMatchObject({ ok: true });
  });

  test("cannot give one to the arguments of a program, neither directly nor by a variable", async () => {
    await using made = await withSecret({ allow_shell: true });
    const direct = [["AC_shell_command", { shell_command: ["echo", "${secret:crm_password}"] }]];
    expect(runActions(made.service, direct)).rejects.toMatchObject({
      message: expect.stringContaining("every user of the host can read the arguments of a program"),
    });
    const { outcomes } = await runActions(made.service, [
      ["AC_set_var", { name: "copy", value: "x${secret:crm_password}" }],
      ["AC_shell_command", { shell_command: "echo ${copy}" }],
    ]);
    expect(outcomes[1]?.error).toContain("every user of the host can read the arguments of a program");
  });

  test("keeps it out of what goes to other hosts and to files of svc", async () => {
    await using made = await withSecret();
    const fault = (list: unknown[]) =>
      runActions(made.service, list).then(
        ({ outcomes }) => outcomes.at(-1)?.error,
        (error: Error) => error.message,
      );
    const sent = {
      actions: [["AC_write", { write_string: "${x}" }]],
      variables: { x: "${secret:crm_password}" },
    };
    expect(await fault([["AC_admin_broadcast_execute", sent]])).toContain("a secret stays on its host");
    const job = {
      script_path: "/tmp/x.json",
      interval_seconds: 60,
      variables: { x: "${secret:crm_password}" },
    };
    expect(await fault([["AC_scheduler_add_job", job]])).toContain(
      "name the secret in the script of the job",
    );
    expect(await fault([["AC_log", { message: "${secret:crm_password}" }]])).toContain("treats as secret");
    const byVariable = { actions: [["AC_screen_size"]], variables: { x: "${copy}" } };
    const set = ["AC_set_var", { name: "copy", value: "${secret:crm_password}" }];
    expect(await fault([set, ["AC_admin_broadcast_execute", byVariable]])).toContain(
      "a secret stays on its host",
    );
  });

  test("in another one uses secrets as well, also where its path is known only then", async () => {
    await using made = await withSecret();
    const inner = join(made.configDir, "inner.json");
    writeFileSync(inner, JSON.stringify([["AC_set_var", { name: "got", value: "${secret:crm_password}" }]]));
    const late = [
      ["AC_set_var", { name: "path", value: inner, secret: false }],
      ["AC_run_script", { path: "${path}", as: "called" }],
      ["AC_assert", { name: "called.variables.got", op: "eq", value: VALUE }],
    ];
    const { ok, outcomes } = await runActions(made.service, late);
    expect({ ok, outcomes: JSON.stringify(outcomes) }).toMatchObject({
      ok: true,
      outcomes: expect.not.stringContaining(VALUE),
    });
    const { service } = made;
    const denied = await runActions(service, late, {}, caller(service, ["operate", "read"]));
    expect(denied.outcomes[1]?.error).toContain("needs secret:crm_password");
  });

  test("has a row that names the secret", async () => {
    await using made = await withSecret();
    await runActions(made.service, [["AC_set_var", { name: "a", value: "${secret:crm_password}" }]]);
    const rows = (await (await made.service.audit())?.list({ limit: 5 })) ?? [];
    expect(rows.map(({ detail }) => detail).join("\n")).toContain("secrets=crm_password ");
  });
});

test("no value shows in any output, whatever it is and wherever a script puts it", async () => {
  const logged: string[] = [];
  const note = (...words: unknown[]) => void logged.push(words.map(String).join(" "));
  const log = { ...silentLog, info: note, warn: note, error: note };
  await using made = testService({ allow_shell: true, log });
  const { service, configDir } = made;
  const store = await service.secrets();
  const events = service.events();
  // 128 bits of randomness: no output has it by chance.
  const values = fc.tuple(
    fc.array(fc.constantFrom('"', "\\", "\n", "é", " ", "'", "$", "{", "*", "\u2028"), { maxLength: 6 }),
    fc.uuid(),
  );
  await fc.assert(
    fc.asyncProperty(values, fc.boolean(), async ([odd, unique], stops) => {
      const value = `${odd.join("")}${unique}${odd.toReversed().join("")}`;
      await store.set("one", value, null);
      const ref = "${secret:one}";
      const list = [
        ["AC_set_var", { name: "v", value: `<${ref}>`, secret: false }],
        ["AC_set_var", { name: "list", value: [{ k: ref }], as: "all" }],
        ["AC_log", { message: "see ${v} ${= v} ${list}" }],
        ["AC_assert", { name: "v", op: "eq", value: "nothing", message: "because ${v}" }],
        [
          "AC_shell_command",
          { shell_command: "cat; printf '%s' \"$S\" >&2; exit 1", env: { S: ref }, stdin: ref },
        ],
        ["AC_try", { body: [["AC_fail", { message: "no: ${v}" }]], error_var: "e", reraise: false }],
        ["AC_for_each", { list: [ref], var: "i", body: [["AC_set_var", { name: "w", value: "${i}" }]] }],
        ["AC_read_json", { path: "/nonexistent/${v}.json" }],
        ["AC_fail", { message: "${v}" }],
      ];
      const ran = [
        await runActions(
          service,
          list,
          { stop_on_error: stops },
          {
            ...localCaller(service, "cli"),
            logged: (text) => void logged.push(text),
            warn: (text) => void logged.push(text),
            progress: (step) => void logged.push(JSON.stringify(step)),
          },
        ),
      ];
      const { run_id } = ran[0] as (typeof ran)[number];
      const outputs = [
        JSON.stringify(ran),
        JSON.stringify((await service.runs()).show(run_id)),
        JSON.stringify((await service.history()).list({ limit: 100 })),
        JSON.stringify(await (await service.audit())?.list({ limit: 100 })),
        ...Array.from({ length: events.newest }, (_, seq) => JSON.stringify(events.at(seq + 1) ?? null)),
        ...logged,
      ];
      expect(outputs.filter((text) => text.includes(unique))).toEqual([]);
      expect(allFiles(configDir)).not.toContain(unique);
    }),
    { numRuns: 25 },
  );
}, 60_000);

describe("over HTTP", () => {
  test("a secret is set by a body, listed without its value, and refused where it could not be masked", async () => {
    await using host = await testServer();
    const set = await host.call("/secrets/set", post({ name: "crm_password", value: VALUE }));
    expect(await set.json()).toEqual({
      ...{ name: "crm_password", source: "store", set: expect.any(String), by: "owner", last_used: null },
      replaced: false,
    });
    const short = await host.call("/secrets/set", post({ name: "pin", value: "abc" }));
    expect([short.status, await short.text()]).toEqual([400, expect.not.stringContaining("abc")]);
    const list = await (await host.call("/secrets")).text();
    expect(list).toContain("crm_password");
    expect(list).not.toContain(VALUE);
    const ran = await host.call(
      "/execute",
      post({ actions: [["AC_set_var", { name: "a", value: "${secret:crm_password}" }]], trace: false }),
    );
    expect(await ran.text()).not.toContain(VALUE);
    expect(allFiles(host.configDir)).not.toContain(VALUE);
    const removed = await host.call("/secrets/remove", post({ name: "crm_password" }));
    expect(await removed.json()).toEqual({ removed: "crm_password" });
  });
});

describe("a scope", () => {
  const grant = (...scopes: Scope[]) => ({ name: "t", scopes });
  test("covers one name, or a beginning", () => {
    expect(allows(grant("secret:crm_*"), "secret:crm_password")).toBe(true);
    expect(allows(grant("secret:crm_*"), "secret:erp")).toBe(false);
    expect(allows(grant("secret:crm"), "secret:crm_password")).toBe(false);
    expect(allows(grant("operate"), "secret:crm")).toBe(false);
  });

  test("limits a run to what both allow", () => {
    const limited = (own: Scope, asked: Scope) => limitedTo(grant(own), [asked]).scopes;
    expect(limited("secret:crm_*", "secret:crm_password")).toEqual(["secret:crm_password"]);
    expect(limited("secret:crm_*", "secret:*")).toEqual(["secret:crm_*"]);
    expect(limited("secret:crm_*", "secret:erp_*")).toEqual([]);
    expect(limited("admin", "secret:erp_*")).toEqual(["secret:erp_*"]);
  });
});
