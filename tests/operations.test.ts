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
import { SCOPES } from "../src/core/rights";
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
    const scopeOf = Map.groupBy(operations, ({ scope }) => scope);
    const found = [...SCOPES, "any" as const].map((scope) => [
      scope,
      (scopeOf.get(scope) ?? []).map(({ name }) => name).sort(),
    ]);
    expect(Object.fromEntries(found)).toEqual(SCOPE_OF);
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
    expect(operations.flatMap(({ name, reveals }) => (reveals ? [name] : [])).toSorted()).toEqual([
      "admin.element_at",
      "admin.host_thumbnail",
      "admin.odd",
      "admin.screen_at",
      "audit.export",
      "black_box.find",
      "config.export",
      "dashboard.code",
      "dashboard.sign_in",
      "data.read_csv",
      "data.read_json",
      "desk.export",
      "desktop.assert_image",
      "desktop.get_clipboard",
      "desktop.get_pixel",
      "desktop.if_image_found",
      "desktop.locate",
      "desktop.locate_all_image",
      "desktop.locate_image_center",
      "desktop.locate_text",
      "desktop.read_text",
      "desktop.record",
      "desktop.screenshot",
      "desktop.screenshot_diff",
      "desktop.snapshot",
      "desktop.wait_image",
      "desktop.wait_image_gone",
      "desktop.wait_pixel",
      "desktop.wait_still",
      "desktop.wait_text",
      "desktop.wait_window",
      "desktop.wait_window_gone",
      "desktop.window_rows",
      "desktop.windows",
      "elements.a11y_dump",
      "elements.a11y_find",
      "elements.a11y_find_all",
      "elements.a11y_list",
      "elements.assert",
      "elements.at",
      "elements.locate",
      "elements.read",
      "elements.read_cell",
      "elements.read_table",
      "elements.wait",
      "elements.wait_gone",
      "mcp.sessions",
      "nats.desk",
      "passkeys.invite",
      "plan.proof",
      "recording.get",
      "runs.mend",
      "runs.proof",
      "runs.show",
      "screen.at",
      "screen.ice",
      "screen.signature",
      "screen.thumbnail",
      "scripts.drafts",
      "token.show",
      "traces.export",
      "traces.get",
      "traces.show",
      "turn.credentials",
    ]);
  });

  test("only reads, or does more, as was decided for it", () => {
    const reading = operations.filter(isReadOnly).map(({ name }) => name);
    expect(reading.toSorted()).toEqual(READING);
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

/** What a token of each scope may use. */
const SCOPE_OF = {
  metrics: ["admin.host_metrics", "admin.targets", "metrics.render", "tls.cert"],
  read: [
    "admin.black_box_kept",
    "admin.find_hosts",
    "admin.host_desktops",
    "admin.host_look",
    "admin.list_hosts",
    "admin.witness",
    "admin.witness_fork",
    "audit.checkpoint",
    "audit.key",
    "black_box.kept",
    "black_box.status",
    "commands.list",
    "commands.reference",
    "commands.schema",
    "commands.show",
    "config.list",
    "dashboard.asset",
    "dashboard.overview",
    "dashboard.page",
    "data.list",
    "desk.show",
    "desktop.monitors",
    "desktop.mouse_position",
    "desktop.screen_size",
    "desktops.list",
    "desktops.show",
    "diagnostics.run",
    "execute.check",
    "explorer.asset",
    "explorer.page",
    "fleet.list",
    "health",
    "help.read",
    "history.list",
    "inspector.recent",
    "inspector.summary",
    "jobs.list",
    "licenses.list",
    "link.list",
    "link.show",
    "nats.show",
    "oidc.begin",
    "oidc.resource",
    "oidc.show",
    "openapi",
    "rest.requests",
    "rest.status",
    "runs.list",
    "scripts.list",
    "secret.list",
    "sessions.get",
    "state.compare",
    "state.drift",
    "states.list",
    "sync.status",
    "traces.list",
    "upgrade.status",
    "usb.events",
    "usb.list",
    "version.show",
    "witness.key",
  ],
  screen: [
    "admin.black_box_spans",
    "admin.element_at",
    "admin.host_thumbnail",
    "admin.odd",
    "admin.screen_at",
    "admin.screen_offer",
    "admin.screen_relay",
    "admin.screen_state",
    "black_box.find",
    "black_box.spans",
    "desktop.assert_image",
    "desktop.get_clipboard",
    "desktop.get_pixel",
    "desktop.if_image_found",
    "desktop.locate",
    "desktop.locate_all_image",
    "desktop.locate_image_center",
    "desktop.locate_text",
    "desktop.read_text",
    "desktop.save_screenshot",
    "desktop.screenshot",
    "desktop.screenshot_diff",
    "desktop.snapshot",
    "desktop.wait_image",
    "desktop.wait_image_gone",
    "desktop.wait_pixel",
    "desktop.wait_still",
    "desktop.wait_text",
    "desktop.window_rows",
    "desktop.windows",
    "elements.a11y_dump",
    "elements.a11y_find",
    "elements.a11y_find_all",
    "elements.a11y_list",
    "elements.assert",
    "elements.at",
    "elements.locate",
    "elements.read",
    "elements.read_cell",
    "elements.read_table",
    "elements.wait",
    "elements.wait_gone",
    "lease.current",
    "lease.end",
    "lease.request",
    "lease.use",
    "recording.export",
    "recording.get",
    "recording.list",
    "recording.start",
    "recording.stop",
    "screen.at",
    "screen.ice",
    "screen.offer",
    "screen.open",
    "screen.signature",
    "screen.state",
    "screen.thumbnail",
    "screen.ticket",
    "traces.export",
    "traces.get",
    "traces.show",
  ],
  audit: [
    "approvals.verify",
    "audit.export",
    "audit.list",
    "audit.proof",
    "audit.status",
    "audit.verify",
    "audit.verify_proof",
    "audit.verify_run",
    "plan.proof",
    "runs.proof",
  ],
  sync: ["sessions.offer"],
  operate: [
    "admin.broadcast_execute",
    "admin.broadcast_live",
    "admin.poll",
    "admin.robot",
    "admin.screen_control",
    "approvals.allow",
    "approvals.deny",
    "approvals.list",
    "audit.cosignatures",
    "black_box.pause",
    "black_box.resume",
    "data.read_csv",
    "data.read_json",
    "data.write_csv",
    "desktop.a11y_click",
    "desktop.act",
    "desktop.click_element",
    "desktop.click_mouse",
    "desktop.close_window",
    "desktop.drag",
    "desktop.focus_window",
    "desktop.hotkey",
    "desktop.locate_and_click",
    "desktop.maximize_window",
    "desktop.minimize_window",
    "desktop.mouse_scroll",
    "desktop.move_window",
    "desktop.press_keyboard_key",
    "desktop.press_mouse",
    "desktop.release_keyboard_key",
    "desktop.release_mouse",
    "desktop.resize_window",
    "desktop.set_clipboard",
    "desktop.set_mouse_position",
    "desktop.type_in_element",
    "desktop.type_keyboard",
    "desktop.wait_window",
    "desktop.wait_window_gone",
    "desktop.write",
    "desktops.start",
    "desktops.stop",
    "elements.check",
    "elements.choose_menu",
    "elements.expand",
    "elements.focus",
    "elements.press",
    "elements.scroll_to",
    "elements.select",
    "elements.set_text",
    "execute.actions",
    "execute.file",
    "fleet.diff",
    "flow.assert",
    "flow.barrier",
    "flow.break",
    "flow.continue",
    "flow.fail",
    "flow.for_each",
    "flow.if",
    "flow.if_var",
    "flow.log",
    "flow.loop",
    "flow.on",
    "flow.retry",
    "flow.run_script",
    "flow.set_var",
    "flow.sleep",
    "flow.together",
    "flow.try",
    "flow.while",
    "inspector.record",
    "inspector.reset",
    "jobs.add",
    "jobs.add_cron",
    "jobs.pause",
    "jobs.remove",
    "jobs.resume",
    "jobs.run",
    "lease.allow",
    "lease.list",
    "lease.show",
    "mcp.keep",
    "mcp.sessions",
    "nats.test",
    "passkeys.add",
    "passkeys.begin",
    "passkeys.list",
    "passkeys.remove",
    "plan.apply",
    "plan.cancel",
    "plan.cancel_job",
    "plan.list",
    "plan.new",
    "plan.pause",
    "plan.remove",
    "plan.resume",
    "plan.retry",
    "plan.show",
    "plan.take_job",
    "runs.cancel",
    "screen.control",
    "scripts.drafts",
    "scripts.drop",
    "scripts.mend",
    "sessions.close",
    "state.apply",
    "sync.start",
    "sync.stop",
    "together.run",
    "turn.test",
    "upgrade.install",
    "upgrade.receive",
    "usb.watch.start",
    "usb.watch.stop",
  ],
  admin: [
    "admin.add_host",
    "admin.certificates",
    "admin.change_tags",
    "admin.edit_hosts",
    "admin.export",
    "admin.import",
    "admin.plan_upgrade",
    "admin.remove_host",
    "admin.rename_host",
    "admin.rotate_host",
    "admin.set_host",
    "admin.tag_host",
    "admin.upgrade",
    "admin.witness_forget",
    "admin.witness_restore",
    "approvals.ask",
    "audit.clear",
    "audit.log",
    "audit.prune",
    "config.export",
    "config.import",
    "config.set",
    "config.set_aside",
    "dashboard.code",
    "data.add",
    "data.remove",
    "desk.export",
    "desk.import",
    "desk.set",
    "desktop.launch",
    "desktop.record",
    "desktops.enter",
    "events.hand_over",
    "fleet.forget",
    "fleet.plan",
    "input.take",
    "join.enter",
    "join.leave",
    "join_token.add",
    "join_token.list",
    "join_token.remove",
    "link.ask",
    "link.read",
    "nats.bundle",
    "nats.desk",
    "nats.grant",
    "nats.use",
    "passkeys.invite",
    "plan.adopt",
    "release.upgrade",
    "rest.start",
    "rest.stop",
    "runs.attach",
    "screen.proxy",
    "scripts.add",
    "scripts.remove",
    "scripts.store",
    "secret.remove",
    "secret.set",
    "service.install",
    "service.logs",
    "service.status",
    "service.uninstall",
    "shell.run",
    "states.forget",
    "tls.renew",
    "token.add",
    "token.list",
    "token.remove",
    "token.rotate",
    "token.show",
    "turn.bundle",
    "turn.credentials",
    "webhook.add",
    "webhook.list",
    "webhook.remove",
    "webhook.test",
  ],
  any: [
    "admin.screen_stream",
    "audit.verify_fork",
    "dashboard.sign_in",
    "desk.forget",
    "desk.nats",
    "desk.pins",
    "events.list",
    "events.types",
    "join.accept",
    "join.release",
    "link.open",
    "mcp.message",
    "oidc.complete",
    "oidc.device",
    "oidc.device_token",
    "oidc.page",
    "oidc.provider_logout",
    "oidc.redeem",
    "oidc.sign_out",
    "robot.call",
    "runs.mend",
    "runs.show",
    "screen.rfb",
    "scripts.run",
    "tls.pin",
    "token.confirm",
    "token.renew",
    "token.rights",
    "webdriver.act",
    "webdriver.end",
    "webdriver.handed_on",
    "webdriver.look",
    "witness.add_checkpoint",
    "witness.assign",
    "witness.checkpoint",
    "witness.restored",
  ],
};

function missing({ http, command, leftOut }: Operation): Surface[] {
  const surfaces: Surface[] = [];
  if (!http) surfaces.push("http");
  if (!command) surfaces.push("script");
  if (leftOut?.cli !== undefined) surfaces.push("cli");
  return surfaces;
}

/** What only reads: agents may be offered it without `--write`. All else does more. */
const READING = [
  "admin.black_box_kept",
  "admin.black_box_spans",
  "admin.element_at",
  "admin.find_hosts",
  "admin.host_desktops",
  "admin.host_look",
  "admin.host_metrics",
  "admin.host_thumbnail",
  "admin.list_hosts",
  "admin.odd",
  "admin.screen_at",
  "admin.screen_state",
  "admin.targets",
  "admin.witness",
  "admin.witness_fork",
  "approvals.verify",
  "audit.checkpoint",
  "audit.key",
  "audit.list",
  "audit.proof",
  "audit.status",
  "audit.verify",
  "audit.verify_fork",
  "audit.verify_proof",
  "audit.verify_run",
  "black_box.find",
  "black_box.kept",
  "black_box.spans",
  "black_box.status",
  "commands.list",
  "commands.reference",
  "commands.schema",
  "commands.show",
  "config.list",
  "dashboard.asset",
  "dashboard.overview",
  "dashboard.page",
  "data.list",
  "desk.show",
  "desktop.assert_image",
  "desktop.get_clipboard",
  "desktop.get_pixel",
  "desktop.if_image_found",
  "desktop.locate",
  "desktop.locate_all_image",
  "desktop.locate_image_center",
  "desktop.locate_text",
  "desktop.monitors",
  "desktop.mouse_position",
  "desktop.read_text",
  "desktop.screen_size",
  "desktop.screenshot",
  "desktop.screenshot_diff",
  "desktop.snapshot",
  "desktop.wait_image",
  "desktop.wait_image_gone",
  "desktop.wait_pixel",
  "desktop.wait_still",
  "desktop.wait_text",
  "desktop.window_rows",
  "desktop.windows",
  "desktops.list",
  "desktops.show",
  "diagnostics.run",
  "elements.a11y_dump",
  "elements.a11y_find",
  "elements.a11y_find_all",
  "elements.a11y_list",
  "elements.assert",
  "elements.at",
  "elements.locate",
  "elements.read",
  "elements.read_cell",
  "elements.read_table",
  "elements.wait",
  "elements.wait_gone",
  "events.list",
  "events.types",
  "execute.check",
  "explorer.asset",
  "explorer.page",
  "fleet.list",
  "health",
  "help.read",
  "history.list",
  "inspector.recent",
  "inspector.summary",
  "jobs.list",
  "licenses.list",
  "link.list",
  "link.show",
  "metrics.render",
  "nats.show",
  "oidc.begin",
  "oidc.resource",
  "oidc.show",
  "openapi",
  "plan.proof",
  "recording.get",
  "recording.list",
  "rest.requests",
  "rest.status",
  "runs.list",
  "runs.mend",
  "runs.proof",
  "runs.show",
  "screen.at",
  "screen.signature",
  "screen.state",
  "screen.thumbnail",
  "scripts.list",
  "secret.list",
  "sessions.get",
  "state.compare",
  "state.drift",
  "states.list",
  "sync.status",
  "tls.cert",
  "tls.pin",
  "token.rights",
  "traces.get",
  "traces.list",
  "upgrade.status",
  "usb.events",
  "usb.list",
  "version.show",
  "witness.checkpoint",
  "witness.key",
];
