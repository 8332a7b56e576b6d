/** The table: one definition, every surface. */
import { describe, expect, spyOn, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { registry as svc } from "../commands";
import { complete } from "../src/cli/completion";
import { parseFlags } from "../src/cli/parser";
import { findSubcommand } from "../src/cli/run";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { field, seconds } from "../src/core/fields";
import { isReadOnly, type Operation, operation, type Surface } from "../src/core/operation";
import { metadataOf, partsOf } from "../src/core/schema";
import { operations } from "../src/operations";
import { createService } from "../src/service/service";
import { post, temporaryFolder, testServer } from "./support";

/** All that a new operation takes. */
const measureTide = operation({
  name: "tide.measure",
  summary: "Measure the tide",
  scope: "read",
  command: "AC_tide_measure",
  http: { method: "GET", path: "/tide" },
  input: v.strictObject({
    within_s: field(v.optional(seconds(v.pipe(v.number(), v.maxValue(60))), 5), "How long it may take"),
  }),
  output: v.object({ metres: v.number() }),
  run: (_service: object, { within_s }) => ({ metres: within_s / 10 }),
});

const table: readonly Operation[] = [...operations, measureTide];
const registry = { ...svc, operations: async () => table };

describe("an operation in one file is on every surface:", () => {
  test("HTTP, with its check", async () => {
    await using host = await testServer({ service: { operations: table } });
    expect(await (await host.call("/tide?within_s=20")).json()).toEqual({ metres: 2 });
    expect((await host.call("/tide?within_s=2m")).status).toBe(400);
  });

  test("action scripts, and the reference", async () => {
    await using host = await testServer({ service: { operations: table } });
    const ran = await host.call("/execute", post({ actions: [["AC_tide_measure", { within_s: 30 }]] }));
    expect(await ran.json()).toMatchObject({ ok: true, outcomes: [{ result: { metres: 3 } }] });
    const entry = await (await host.call("/commands/AC_tide_measure")).json();
    expect(entry).toMatchObject({
      summary: "Measure the tide",
      parameters: [{ name: "within_s", default: 5 }],
    });
  });

  test("the API document", async () => {
    await using host = await testServer({ service: { operations: table } });
    const document = await (await host.call("/openapi.json")).json();
    expect(document).toMatchObject({ paths: { "/tide": { get: { operationId: "tide.measure" } } } });
  });

  test("the command line, with help and completion", async () => {
    const found = await findSubcommand(registry, ["tide", "measure", "--within", "1m"]);
    if (!("one" in found)) throw new Error(found.fault);
    const parsed = await parseFlags(found.called, found.one, found.rest);
    expect(parsed).toMatchObject({ typed: { within: ["1m"] } });
    const said = spyOn(console, "log").mockImplementation(() => {});
    try {
      await parseFlags(found.called, found.one, ["--help"]);
      expect(said.mock.calls.join("\n")).toMatch(/--within +How long it may take +\[value\] \[default: 5s\]/);
    } finally {
      said.mockRestore();
    }
    expect(await complete(registry, ["tide", ""])).toEqual([["measure", "Measure the tide"]]);
    expect(await complete(registry, ["tide", "measure", "--wi"])).toEqual([
      ["--within", "How long it may take"],
    ]);
  });
});

describe("each operation of svc", () => {
  test("has a name of its own, and describes every field", () => {
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
    const silent = operations.flatMap(({ name, input }) =>
      Object.entries(input.entries)
        .filter(([, entry]) => !v.getDescription(entry as v.GenericSchema))
        .map(([entry]) => `${name}: ${entry}`),
    );
    expect(silent).toEqual([]);
  });

  test("has the scope that was decided for it: what rewrites trust or configuration is admin", () => {
    const found = operations.map(({ name, scope }) => [name, scope]);
    const decided = Object.entries(DECIDED).map(([name, words]) => [name, words.split(" ")[0]]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(decided));
  });

  test("is on every surface, or says why not", () => {
    const reasons = operations.flatMap((one) => missing(one).map((surface) => [surface, one] as const));
    const lines = reasons.map(
      ([surface, { name, leftOut }]) => `${surface}: ${name}: ${leftOut?.[surface] ?? "NO REASON"}`,
    );
    console.info(lines.toSorted().join("\n"));
    expect(lines.filter((line) => line.endsWith("NO REASON"))).toEqual([]);
  });

  test("does not say why it is missing where it is there", () => {
    const odd = operations.filter((one) => {
      const { leftOut = {} } = one;
      return (leftOut.http && one.http) || (leftOut.script && one.command);
    });
    expect(odd.map(({ name }) => name)).toEqual([]);
  });

  test("reveals nothing but what is listed here", () => {
    const found = operations.filter(({ reveals }) => reveals).map(({ name }) => name);
    expect(found.toSorted()).toEqual(marked("reveals").toSorted());
  });

  test("only reads, or does more, as was decided for it", () => {
    const reading = operations.filter(isReadOnly).map(({ name }) => name);
    expect(reading.toSorted()).toEqual(marked("reads").toSorted());
    // Each lacks `changes`, and yet an agent must not use it as if it only read.
    for (const acting of ["config.export", "turn.credentials", "audit.export", "flow.loop", "flow.sleep"])
      expect(reading).not.toContain(acting);
    expect(reading).not.toContain("shell.run");
  });

  test("is on record first where its answer has a secret", () => {
    const hasSecret = (schema: v.GenericSchema): boolean =>
      metadataOf(schema).secret === true || partsOf(schema).some(hasSecret);
    const answering = operations.filter(({ output }) => hasSecret(output));
    expect(answering).toContainEqual(expect.objectContaining({ name: "config.export" }));
    const silent = answering.filter(({ changes, reveals }) => !changes && !reveals);
    // The token of the server in the caller's own process, and what the caller or a script of its own sent.
    expect(silent.map(({ name }) => name)).toEqual([
      "rest.status",
      // Stands for what a person has yet to allow.
      "oidc.device",
      "flow.run_script",
      "flow.set_var",
    ]);
  });

  test("makes neither the configuration folder nor a file in it where it only reads", async () => {
    using folder = temporaryFolder();
    const configDir = join(folder.path, "config");
    const reading = operations.filter(
      ({ changes, reveals, uses, input }) => !changes && !reveals && !uses && v.is(input, {}),
    );
    expect(reading.length).toBeGreaterThan(20);
    for (const one of reading) {
      const service = createService({ configDir });
      // Without a server or a display some fail, and make nothing either.
      await (async () => callOperation(service, one, {}, localCaller(service, "api")))().catch(() => {});
      await service.stop();
      expect([one.name, readdirSync(folder.path)]).toEqual([one.name, []]);
    }
  }, 180_000);

  test("takes spans of time and sizes with a unit, where it takes text", () => {
    const plain = operations.flatMap(({ name, input }) =>
      Object.entries(input.entries)
        .filter(
          ([entry, schema]) => /_s$|seconds$/.test(entry) && !metadataOf(schema as v.GenericSchema).text,
        )
        .map(([entry]) => `${name}: ${entry}`),
    );
    expect(plain).toEqual([]);
  });
});

test("what uses pointer and keyboard ends with who waits for it: nothing is clicked for who has gone", () => {
  const odd = operations.filter(
    ({ uses, attended, answeredBy }) => uses && answeredBy === "display" && !attended,
  );
  expect(odd.map(({ name }) => name)).toEqual([]);
});

/**
 * What was decided for each operation: the scope that a token needs; `reads` where it only reads, so that agents may be offered it without
 * `--write`, and all else does more; `reveals` where its answer has what its scope alone does not say.
 */
const DECIDED = {
  "admin.add_host": "admin",
  "admin.black_box_kept": "read reads",
  "admin.black_box_spans": "screen reads",
  "admin.broadcast_execute": "operate",
  "admin.broadcast_live": "operate",
  "admin.certificates": "admin",
  "admin.change_tags": "admin",
  "admin.edit_hosts": "admin",
  "admin.element_at": "screen reads reveals",
  "admin.export": "admin",
  "admin.find_hosts": "read reads",
  "admin.host_desktops": "read reads",
  "admin.host_look": "read reads",
  "admin.host_metrics": "metrics reads",
  "admin.host_thumbnail": "screen reads reveals",
  "admin.import": "admin",
  "admin.list_hosts": "read reads",
  "admin.odd": "screen reads reveals",
  "admin.plan_upgrade": "admin",
  "admin.poll": "operate",
  "admin.releases": "read reads",
  "admin.remove_host": "admin",
  "admin.rename_host": "admin",
  "admin.robot": "operate",
  "admin.rotate_host": "admin",
  "admin.screen_at": "screen reads reveals",
  "admin.screen_control": "operate",
  "admin.screen_offer": "screen",
  "admin.screen_relay": "screen",
  "admin.screen_state": "screen reads",
  "admin.screen_stream": "any",
  "admin.set_host": "admin",
  "admin.tag_host": "admin",
  "admin.targets": "metrics reads",
  "admin.upgrade": "admin",
  "admin.upgrade_kept": "admin",
  "admin.witness": "read reads",
  "admin.witness_forget": "admin",
  "admin.witness_fork": "read reads",
  "admin.witness_restore": "admin",
  "approvals.allow": "operate",
  "approvals.ask": "admin",
  "approvals.deny": "operate",
  "approvals.list": "operate",
  "approvals.verify": "audit reads",
  "audit.checkpoint": "read reads",
  "audit.clear": "admin",
  "audit.cosignatures": "operate",
  "audit.export": "audit reveals",
  "audit.key": "read reads",
  "audit.list": "audit reads",
  "audit.log": "admin",
  "audit.proof": "audit reads",
  "audit.prune": "admin",
  "audit.status": "audit reads",
  "audit.verify": "audit reads",
  "audit.verify_fork": "any reads",
  "audit.verify_proof": "audit reads",
  "audit.verify_run": "audit reads",
  "black_box.find": "screen reads reveals",
  "black_box.kept": "read reads",
  "black_box.pause": "operate",
  "black_box.resume": "operate",
  "black_box.spans": "screen reads",
  "black_box.status": "read reads",
  "commands.list": "read reads",
  "commands.reference": "read reads",
  "commands.schema": "read reads",
  "commands.show": "read reads",
  "config.export": "admin reveals",
  "config.import": "admin",
  "config.list": "read reads",
  "config.set": "admin",
  "config.set_aside": "admin",
  "dashboard.asset": "read reads",
  "dashboard.code": "admin reveals",
  "dashboard.overview": "read reads",
  "dashboard.page": "read reads",
  "dashboard.sign_in": "any reveals",
  "data.add": "admin",
  "data.list": "read reads",
  "data.read_csv": "operate reveals",
  "data.read_json": "operate reveals",
  "data.remove": "admin",
  "data.write_csv": "operate",
  "desk.export": "admin reveals",
  "desk.forget": "any",
  "desk.generation": "any",
  "desk.import": "admin",
  "desk.nats": "any",
  "desk.pins": "any",
  "desk.set": "admin",
  "desk.show": "read reads",
  "desktop.a11y_click": "operate",
  "desktop.act": "operate",
  "desktop.allow": "admin",
  "desktop.assert_image": "screen reads reveals",
  "desktop.click_element": "operate",
  "desktop.click_mouse": "operate",
  "desktop.close_window": "operate",
  "desktop.drag": "operate",
  "desktop.focus_window": "operate",
  "desktop.get_clipboard": "screen reads reveals",
  "desktop.get_pixel": "screen reads reveals",
  "desktop.hotkey": "operate",
  "desktop.if_image_found": "screen reads reveals",
  "desktop.launch": "admin",
  "desktop.locate": "screen reads reveals",
  "desktop.locate_all_image": "screen reads reveals",
  "desktop.locate_and_click": "operate",
  "desktop.locate_image_center": "screen reads reveals",
  "desktop.locate_text": "screen reads reveals",
  "desktop.maximize_window": "operate",
  "desktop.minimize_window": "operate",
  "desktop.monitors": "read reads",
  "desktop.mouse_position": "read reads",
  "desktop.mouse_scroll": "operate",
  "desktop.move_window": "operate",
  "desktop.press_keyboard_key": "operate",
  "desktop.press_mouse": "operate",
  "desktop.read_text": "screen reads reveals",
  "desktop.record": "admin reveals",
  "desktop.release_keyboard_key": "operate",
  "desktop.release_mouse": "operate",
  "desktop.resize_window": "operate",
  "desktop.save_screenshot": "screen",
  "desktop.screen_size": "read reads",
  "desktop.screenshot": "screen reads reveals",
  "desktop.screenshot_diff": "screen reads reveals",
  "desktop.set_clipboard": "operate",
  "desktop.set_mouse_position": "operate",
  "desktop.snapshot": "screen reads reveals",
  "desktop.type_in_element": "operate",
  "desktop.type_keyboard": "operate",
  "desktop.wait_image": "screen reads reveals",
  "desktop.wait_image_gone": "screen reads reveals",
  "desktop.wait_pixel": "screen reads reveals",
  "desktop.wait_still": "screen reads reveals",
  "desktop.wait_text": "screen reads reveals",
  "desktop.wait_window": "operate reveals",
  "desktop.wait_window_gone": "operate reveals",
  "desktop.window_rows": "screen reads reveals",
  "desktop.windows": "screen reads reveals",
  "desktop.write": "operate",
  "desktops.enter": "admin",
  "desktops.list": "read reads",
  "desktops.show": "read reads",
  "desktops.start": "operate",
  "desktops.stop": "operate",
  "diagnostics.run": "read reads",
  "elements.a11y_dump": "screen reads reveals",
  "elements.a11y_find": "screen reads reveals",
  "elements.a11y_find_all": "screen reads reveals",
  "elements.a11y_list": "screen reads reveals",
  "elements.assert": "screen reads reveals",
  "elements.at": "screen reads reveals",
  "elements.check": "operate",
  "elements.choose_menu": "operate",
  "elements.expand": "operate",
  "elements.focus": "operate",
  "elements.locate": "screen reads reveals",
  "elements.press": "operate",
  "elements.read": "screen reads reveals",
  "elements.read_cell": "screen reads reveals",
  "elements.read_table": "screen reads reveals",
  "elements.scroll_to": "operate",
  "elements.select": "operate",
  "elements.set_text": "operate",
  "elements.wait": "screen reads reveals",
  "elements.wait_gone": "screen reads reveals",
  "events.hand_over": "admin",
  "events.list": "any reads",
  "events.types": "any reads",
  "execute.actions": "operate",
  "execute.check": "read reads",
  "execute.file": "operate",
  "explorer.asset": "read reads",
  "explorer.page": "read reads",
  "fleet.diff": "operate",
  "fleet.forget": "admin",
  "fleet.list": "read reads",
  "fleet.plan": "admin",
  "flow.assert": "operate",
  "flow.barrier": "operate",
  "flow.break": "operate",
  "flow.continue": "operate",
  "flow.fail": "operate",
  "flow.for_each": "operate",
  "flow.if": "operate",
  "flow.if_var": "operate",
  "flow.log": "operate",
  "flow.loop": "operate",
  "flow.on": "operate",
  "flow.retry": "operate",
  "flow.run_script": "operate",
  "flow.set_var": "operate",
  "flow.sleep": "operate",
  "flow.together": "operate",
  "flow.try": "operate",
  "flow.while": "operate",
  health: "read reads",
  "help.read": "read reads",
  "history.list": "read reads",
  "input.take": "admin",
  "inspector.recent": "read reads",
  "inspector.record": "operate",
  "inspector.reset": "operate",
  "inspector.summary": "read reads",
  "jobs.add": "operate",
  "jobs.add_cron": "operate",
  "jobs.list": "read reads",
  "jobs.pause": "operate",
  "jobs.remove": "operate",
  "jobs.resume": "operate",
  "jobs.run": "operate",
  "join.accept": "any",
  "join.enter": "admin",
  "join.leave": "admin",
  "join.release": "any",
  "join_token.add": "admin",
  "join_token.list": "admin",
  "join_token.remove": "admin",
  "lease.allow": "operate",
  "lease.current": "screen",
  "lease.end": "screen",
  "lease.list": "operate",
  "lease.request": "screen",
  "lease.show": "operate",
  "lease.use": "screen",
  "licenses.list": "read reads",
  "link.ask": "admin",
  "link.list": "read reads",
  "link.open": "any",
  "link.read": "admin",
  "link.show": "read reads",
  "mcp.keep": "operate",
  "mcp.message": "any",
  "mcp.sessions": "operate reveals",
  "metrics.render": "metrics reads",
  "nats.bundle": "admin",
  "nats.desk": "admin reveals",
  "nats.grant": "admin",
  "nats.show": "read reads",
  "nats.test": "operate",
  "nats.use": "admin",
  "oidc.begin": "read reads",
  "oidc.complete": "any",
  "oidc.device": "any",
  "oidc.device_token": "any",
  "oidc.page": "any",
  "oidc.provider_logout": "any",
  "oidc.redeem": "any",
  "oidc.resource": "read reads",
  "oidc.show": "read reads",
  "oidc.sign_out": "any",
  openapi: "read reads",
  "passkeys.add": "operate",
  "passkeys.begin": "operate",
  "passkeys.invite": "admin reveals",
  "passkeys.list": "operate",
  "passkeys.remove": "operate",
  "plan.adopt": "admin",
  "plan.apply": "operate",
  "plan.cancel": "operate",
  "plan.cancel_job": "operate",
  "plan.list": "operate",
  "plan.new": "operate",
  "plan.pause": "operate",
  "plan.proof": "audit reads reveals",
  "plan.remove": "operate",
  "plan.resume": "operate",
  "plan.retry": "operate",
  "plan.show": "operate",
  "plan.take_job": "operate",
  "recording.export": "screen",
  "recording.get": "screen reads reveals",
  "recording.list": "screen reads",
  "recording.start": "screen",
  "recording.stop": "screen",
  "release.upgrade": "admin",
  "rest.requests": "read reads",
  "rest.start": "admin",
  "rest.status": "read reads",
  "rest.stop": "admin",
  "robot.call": "any",
  "runs.attach": "admin",
  "runs.cancel": "operate",
  "runs.list": "read reads",
  "runs.mend": "any reads reveals",
  "runs.proof": "audit reads reveals",
  "runs.show": "any reads reveals",
  "screen.at": "screen reads reveals",
  "screen.control": "operate",
  "screen.ice": "screen reveals",
  "screen.offer": "screen",
  "screen.open": "screen",
  "screen.proxy": "admin",
  "screen.rfb": "any",
  "screen.signature": "screen reads reveals",
  "screen.state": "screen reads",
  "screen.thumbnail": "screen reads reveals",
  "screen.ticket": "screen",
  "scripts.add": "admin",
  "scripts.drafts": "operate reveals",
  "scripts.drop": "operate",
  "scripts.list": "read reads",
  "scripts.mend": "operate",
  "scripts.remove": "admin",
  "scripts.run": "any",
  "scripts.store": "admin",
  "secret.list": "read reads",
  "secret.remove": "admin",
  "secret.set": "admin",
  "service.install": "admin",
  "service.logs": "admin",
  "service.status": "admin",
  "service.uninstall": "admin",
  "sessions.close": "operate",
  "sessions.get": "read reads",
  "sessions.offer": "sync",
  "shell.run": "admin",
  "standby.allow": "admin",
  "standby.follow": "admin",
  "standby.key": "admin",
  "standby.pull": "any reveals",
  "standby.reinstate": "admin",
  "standby.remove": "admin",
  "standby.show": "admin",
  "standby.take_over": "admin",
  "standby.unfollow": "admin",
  "standby.yield": "any",
  "state.apply": "operate",
  "state.compare": "read reads",
  "state.drift": "read reads",
  "states.forget": "admin",
  "states.list": "read reads",
  "sync.start": "operate",
  "sync.status": "read reads",
  "sync.stop": "operate",
  "tls.cert": "metrics reads",
  "tls.pin": "any reads",
  "tls.renew": "admin",
  "together.run": "operate",
  "token.add": "admin",
  "token.confirm": "any",
  "token.list": "admin",
  "token.remove": "admin",
  "token.renew": "any",
  "token.rights": "any reads",
  "token.rotate": "admin",
  "token.show": "admin reveals",
  "traces.export": "screen reveals",
  "traces.get": "screen reads reveals",
  "traces.list": "read reads",
  "traces.show": "screen reveals",
  "turn.bundle": "admin",
  "turn.credentials": "admin reveals",
  "turn.test": "operate",
  "upgrade.install": "operate",
  "upgrade.receive": "operate",
  "upgrade.status": "read reads",
  "usb.events": "read reads",
  "usb.list": "read reads",
  "usb.watch.start": "operate",
  "usb.watch.stop": "operate",
  "version.show": "read reads",
  "webdriver.act": "any",
  "webdriver.end": "any",
  "webdriver.handed_on": "any",
  "webdriver.look": "any",
  "webhook.add": "admin",
  "webhook.list": "admin",
  "webhook.remove": "admin",
  "webhook.test": "admin",
  "witness.add_checkpoint": "any",
  "witness.assign": "any",
  "witness.checkpoint": "any reads",
  "witness.key": "read reads",
  "witness.restored": "any",
};

/** The operations of the table that have a mark. */
const marked = (mark: string): string[] =>
  Object.entries(DECIDED).flatMap(([name, words]) =>
    words.split(" ").slice(1).includes(mark) ? [name] : [],
  );

function missing({ http, command, leftOut }: Operation): Surface[] {
  const surfaces: Surface[] = [];
  if (!http) surfaces.push("http");
  if (!command) surfaces.push("script");
  if (leftOut?.cli !== undefined) surfaces.push("cli");
  return surfaces;
}
