/** Leases of agents: how they begin, what is done within them, and how they end. */
import { describe, expect, test } from "bun:test";
import { requesterOf } from "../../../src/core/caller";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { drag } from "../../../src/host/desktop/drag";
import { Failure } from "../../../src/lib/errors";
import { Requester } from "../../../src/lib/slots";
import { until } from "../../support";
import { AGENT, ANN, callerOf, madeLeases, TERMS } from "./support";

/** Milliseconds within which a lease has to be over. */
const AT_ONCE_MS = 200;

describe("a lease", () => {
  test("waits for a person, who reads what the agent may do", async () => {
    await using made = madeLeases();
    const { id, state } = await made.request({
      windows: ["Order"],
      secrets: ["crm"],
      start: [["crm", "--new"]],
    });
    expect(state).toBe("waiting");
    const [asked] = made.approvals.list({ name: null, scopes: ["admin"] });
    expect(asked).toMatchObject({
      ...{ id, needs: "admin", asked_by: "agent" },
      what: "claude-code wants a desktop of its own for 15 minutes, to do: enter orders",
    });
    for (const words of [
      'only windows titled "Order"',
      "at most 100 actions",
      "the secrets crm",
      'starts "crm", "--new"',
    ])
      expect(asked?.detail).toContain(words);
    await expect(made.use(id)).rejects.toThrow("a person has to allow it");
    expect(made.screen.acts).toEqual([]);
  });

  test("whose terms are too long to be shown whole is refused: nothing that it starts is behind the end", async () => {
    await using made = madeLeases();
    const padded = Array.from({ length: 20 }, () => "\u0001".repeat(200));
    const hidden = made.request({ windows: padded, programs: padded, start: [["sh", "-c", "id"]] });
    await expect(hidden).rejects.toThrow("too long for a person to judge: expected at most 10000 characters");
    expect(made.approvals.list()).toEqual([]);
  });

  test("says first what it starts and which secrets it has, also where only the beginning is kept", async () => {
    await using made = madeLeases();
    await made.request({
      windows: Array.from({ length: 20 }, (_, nth) => `${nth}`.padEnd(200, "x")),
      ...{ start: [["sh", "-c", "id"]], secrets: ["crm"] },
    });
    const [kept] = made.approvals.list(AGENT);
    expect(kept?.detail).toHaveLength(2_001);
    expect(kept?.detail).toContain('starts "sh", "-c", "id"; with the secrets crm');
  });

  test("begins with the yes of a person, holds pointer and keyboard, and is on record first", async () => {
    await using made = madeLeases();
    const begun = await made.begun({ start: [["crm"]], actions: 3 });
    const { id } = begun;
    expect(begun).toMatchObject({ state: "active", left_s: 900, desktop_name: "run-1" });
    expect(made.screen.desktop.inputLock.user()).toBe(`lease ${id} (claude-code)`);
    expect(made.rows[0]).toContain(`lease.began id=${id} agent=claude-code token=agent desktop=new`);
    expect([made.ends, made.events]).toEqual([["start crm"], ["lease.began"]]);
    await made.use(id);
    expect(made.screen.acts).toEqual(["click 10,10"]);
  });

  test("does not begin where a person denies it, or it cannot be on record", async () => {
    await using made = madeLeases({
      record: async (detail) => {
        if (detail.startsWith("lease.began")) throw new Error("the disk is full");
      },
    });
    const denied = await made.request();
    made.approvals.decide(denied.id, "denied", ANN);
    expect(await made.leases.wait(denied.id, 5_000, new AbortController().signal)).toMatchObject({
      ...{ state: "ended", reason: "a person has denied it" },
    });
    expect(await made.begun()).toMatchObject({
      ...{ state: "ended", reason: "it could not begin: the disk is full" },
    });
    expect(made.ends).toEqual(["desktop"]);
    expect(made.screen.desktop.inputLock.user()).toBeNull();
  });

  test("is less than was asked for where a person says so", async () => {
    await using made = madeLeases();
    const { id } = await made.request();
    const given = await made.leases.allow(id, { minutes: 5, actions: 500, windows: ["Order 7"] }, ANN);
    expect(given).toMatchObject({ state: "active", minutes: 5, actions: 100, windows: ["Order 7"] });
    await expect(made.leases.allow(id, {}, ANN)).rejects.toThrow("is allowed already");
  });

  test("of which a person has left less is the same lease for the agent that asks again", async () => {
    await using made = madeLeases();
    const { id } = await made.request();
    await made.leases.allow(id, { minutes: 5, windows: ["Order 7"] }, ANN);
    expect(await made.request()).toMatchObject({ id, state: "active", minutes: 5, windows: ["Order 7"] });
  });

  test("is allowed no other windows or programs than were asked for", async () => {
    await using made = madeLeases();
    const { id } = await made.request({ windows: ["Order"], programs: ["zenity"] });
    for (const more of [{ windows: ["Mail"] }, { windows: [] }, { programs: ["xterm"] }, { programs: [] }])
      await expect(made.leases.allow(id, more, ANN)).rejects.toThrow("expected some of those");
    expect(made.leases.show(id).state).toBe("waiting");
    const given = await made.leases.allow(id, { windows: ["Order 7"] }, ANN);
    expect(given).toMatchObject({ state: "active", windows: ["Order 7"], programs: ["zenity"] });
  });

  test("with programs to start, or secrets, is allowed by who has admin alone", async () => {
    await using made = madeLeases();
    const { id } = await made.request({ secrets: ["crm"] });
    expect(() => made.approvals.decide(id, "allowed", ANN)).toThrow("needs admin");
    await expect(made.leases.allow(id, { minutes: 1 }, AGENT)).rejects.toThrow("needs admin");
    expect(made.leases.show(id)).toMatchObject({ state: "waiting", minutes: 15 });
  });

  test("is one of a token at a time; the same asked for again is the same", async () => {
    await using made = madeLeases();
    const { id } = await made.request();
    expect((await made.request()).id).toBe(id);
    await expect(made.request({ minutes: 1 })).rejects.toThrow(`has the lease ${id} (waiting)`);
    expect(made.approvals.list()).toHaveLength(1);
  });

  test("is one of a token also where it is asked for twice at the same time", async () => {
    await using made = madeLeases();
    const asked = await Promise.allSettled([made.request(), made.request({ minutes: 1 })]);
    expect(asked.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(made.approvals.list()).toHaveLength(1);
    expect((await made.request()).state).toBe("waiting");
  });

  test("that ends while its programs are started starts no other", async () => {
    const started: string[] = [];
    await using made = madeLeases({
      open: async () => ({
        ...{ name: "run-1", desktop: made.screen.desktop, end: async () => {} },
        async launch([program]) {
          started.push(`${program}`);
          made.revoke("agent");
        },
      }),
    });
    const { state, reason } = await made.begun({ start: [["crm"], ["mail"]] });
    expect([state, reason, started]).toEqual(["ended", "its token has ended", ["crm"]]);
  });

  test("is of its holder alone", async () => {
    await using made = madeLeases();
    const { id } = await made.begun();
    const other = { id, holder: "other", operation: "desktop.click_mouse", input: {} };
    await expect(made.leases.use(other, callerOf(ANN))).rejects.toThrow("no lease");
    expect(made.leases.show(id).state).toBe("active");
  });
});

/** Presses a key and holds it, then goes on acting until it is stopped. */
async function busy(desktop: Desktop): Promise<void> {
  await desktop.strike(["shift"], "press");
  for (;;) {
    await desktop.click({ x: 10, y: 10 }, "left", "tap");
    await Bun.sleep(1);
  }
}

describe("a lease ends at once, its keys are released and nothing is done after it,", () => {
  /** A lease that acts all the time is ended by `how`. @returns what became of it. */
  async function ended(how: (made: ReturnType<typeof madeLeases>, id: string) => unknown, minuteMs?: number) {
    await using made = madeLeases({ minuteMs }, busy);
    const { id } = await made.begun({ actions: 10_000 });
    const using = made.use(id).catch((error: Error) => error.message);
    await until("an act", () => made.screen.acts.length > 2);
    const began = performance.now();
    await how(made, id);
    const message = await using;
    const tookMs = performance.now() - began;
    await until("the row of the end", () => made.rows.some((row) => row.startsWith("lease.ended")));
    const released = made.screen.acts.indexOf("release all");
    // Whatever code of the agent still goes on.
    await Bun.sleep(30);
    expect(made.screen.acts.slice(released)).toEqual(["release all"]);
    expect(made.screen.desktop.inputLock.user()).toBeNull();
    expect(made.ends).toEqual(["desktop"]);
    await expect(made.use(id)).rejects.toThrow(`the lease ${id} has ended`);
    return { message, tookMs, reason: made.leases.show(id).reason };
  }

  test("when somebody stops it", async () => {
    const { tookMs, reason, message } = await ended((made, id) => made.leases.end(id, "ann stopped it"));
    expect([reason, message]).toEqual([
      "ann stopped it",
      expect.stringContaining("has ended: ann stopped it"),
    ]);
    expect(tookMs).toBeLessThan(AT_ONCE_MS);
  });

  test("when a person moves the pointer", async () => {
    const { tookMs, reason } = await ended(async (made) => made.screen.movePointer(500, 300));
    expect(reason).toBe("a person moved the pointer");
    expect(tookMs).toBeLessThan(AT_ONCE_MS);
  });

  test("when a person presses a key", async () => {
    const { tookMs, reason } = await ended(async (made) => made.screen.pressKeys(1));
    expect(reason).toBe("a person pressed a key");
    expect(tookMs).toBeLessThan(AT_ONCE_MS);
  });

  test("at its last second", async () => {
    let until = 0;
    const { reason } = await ended((made, id) => {
      until = performance.now() + 1_000 * (made.leases.show(id).left_s ?? 0);
    }, 20);
    expect(reason).toBe("its time is up");
    expect(performance.now() - until).toBeLessThan(5_000);
  });

  test("with its token, and with svc", async () => {
    expect((await ended(async (made) => made.revoke("agent"))).reason).toBe("its token has ended");
    expect((await ended((made) => made.leases.stop())).reason).toBe("svc stops");
  });
});

test("a lease ends within a second or two of the process that asked for it, however that ended", async () => {
  await using made = madeLeases();
  let isThere = true;
  const { id } = await made.begun({}, () => isThere);
  isThere = false;
  await until("its end", () => made.leases.show(id).state === "ended", { seconds: 3 });
  expect(made.leases.show(id).reason).toBe("the process of the agent has ended");
  await until("the lock", () => made.screen.desktop.inputLock.user() === null);
  expect(made.ends).toEqual(["desktop"]);
});

test("nobody is asked any longer for a process that has gone", async () => {
  await using made = madeLeases();
  const { id } = await made.request({}, AGENT, () => false);
  await until("its end", () => made.leases.show(id).state === "ended", { seconds: 3 });
  expect(made.approvals.list()).toMatchObject([{ id, state: "withdrawn" }]);
});

test("a lease ends with its desktop, and says why that has ended", async () => {
  const gone = new AbortController();
  await using made = madeLeases({
    open: async () => ({
      ...{ name: "run-1", desktop: made.screen.desktop, lost: gone.signal },
      ...{ launch: async () => {}, end: async () => {} },
    }),
  });
  const { id } = await made.begun();
  gone.abort("Xvfb has ended");
  await until("its end", () => made.rows.some((row) => row.startsWith("lease.ended")));
  expect(made.leases.show(id)).toMatchObject({
    ...{ state: "ended", reason: "its desktop has ended: Xvfb has ended" },
  });
});

test("a lease of which all actions are used up has ended, and its next act is not done", async () => {
  await using made = madeLeases();
  const { id } = await made.begun({ actions: 2 });
  await made.use(id);
  expect((await made.use(id)).lease.used).toBe(2);
  expect(made.leases.show(id)).toMatchObject({ state: "ended", reason: "its 2 actions are used up" });
  await expect(made.use(id)).rejects.toThrow("its 2 actions are used up");
  expect(made.screen.acts.filter((act) => act.startsWith("click"))).toHaveLength(2);
});

test("an act that moves the pointer itself is no person's move, a drag neither", async () => {
  await using made = madeLeases({}, async (desktop, _input, signal) =>
    drag(
      desktop,
      { from: { x: 10, y: 10 }, to: { x: 90, y: 90 }, duration_s: 0.3, button: "left" },
      new Requester(null, signal),
    ),
  );
  const { id } = await made.begun();
  await made.use(id);
  await Bun.sleep(120);
  expect(made.leases.show(id).state).toBe("active");
});

test("keys that an act presses, and leaves down, are no person's", async () => {
  await using made = madeLeases({}, async (desktop, _input, signal) => {
    await desktop.strike(["ctrl", "shift"], "press", new Requester(null, signal));
    await Bun.sleep(120);
  });
  made.screen.atStrike(() => made.screen.pressKeys(2));
  const { id } = await made.begun();
  await made.use(id);
  await Bun.sleep(120);
  expect(made.leases.show(id).state).toBe("active");
});

test("a person's move in the middle of an act is seen at its end", async () => {
  await using made = madeLeases({}, async (desktop) => {
    const clicking = desktop.click({ x: 10, y: 10 }, "left", "tap");
    await until("the click", () => made.screen.acts.length > 0);
    return clicking;
  });
  made.screen.atClick(() => made.screen.movePointer(400, 400));
  const { id } = await made.begun();
  await made.use(id).catch(() => {});
  expect(made.leases.show(id)).toMatchObject({ state: "ended", reason: "a person moved the pointer" });
});

describe("what a lease does not allow is not done, and ends it:", () => {
  const refusals: ReadonlyArray<readonly [string, (desktop: Desktop) => Promise<unknown>, string]> = [
    [
      "a click in another window",
      (one) => one.click({ x: 250, y: 20 }, "left", "tap"),
      'pointed at the window "Mail"',
    ],
    [
      "a click where no window is",
      (one) => one.click({ x: 150, y: 20 }, "left", "tap"),
      "pointed at what is no window",
    ],
    ["the focus for another window", (one) => one.focus(200), 'used the window "Mail"'],
    ["an element of another window", (one) => one.elements.press("mail/1"), 'used an element of "Mail"'],
    [
      "an element of another window, asked for in turn",
      (one) => one.elements.of(requesterOf(callerOf(AGENT))).press("mail/1"),
      'used an element of "Mail"',
    ],
  ];
  for (const [what, act, words] of refusals) {
    test(what, async () => {
      await using made = madeLeases({}, act);
      const { id } = await made.begun({ windows: ["order"], programs: [] });
      await expect(made.use(id)).rejects.toThrow(words);
      expect(made.leases.show(id)).toMatchObject({ state: "ended", reason: expect.stringContaining(words) });
      expect(made.screen.acts.filter((one) => one !== "release all")).toEqual([]);
    });
  }

  test("a tool that it does not have", async () => {
    await using made = madeLeases();
    const { id } = await made.begun({ toolsets: ["act"] });
    await expect(made.use(id, "desktop.click_mouse")).rejects.toThrow("called desktop.click_mouse");
    expect(made.leases.show(id).state).toBe("ended");
    const again = await made.begun();
    for (const name of ["jobs.remove", "execute.actions", "shell.run", "lease.allow"])
      await expect(made.use(again.id, name)).rejects.toThrow();
    expect(made.screen.acts.filter((one) => one !== "release all")).toEqual([]);
  });

  test("a secret that it does not name", async () => {
    await using made = madeLeases({}, async (desktop, { steps }) =>
      desktop.elements.setText("e1", `${steps}`),
    );
    const { id } = await made.begun({ secrets: ["crm"] });
    const given = await made.leases.use(
      { id, holder: "agent", operation: "desktop.act", input: { steps: "${secret:crm}" } },
      callerOf(AGENT),
    );
    expect(given.lease.used).toBe(1);
    await expect(made.use(id, "desktop.act", { window: "${secret:crm}" })).rejects.toThrow(
      "expected no secret",
    );
    await expect(made.use(id, "desktop.act", { steps: "${secret:bank}" })).rejects.toThrow(
      "used the secret bank",
    );
    expect(made.leases.show(id).state).toBe("ended");
  });
});

test("acts in the windows that a lease names are done", async () => {
  await using made = madeLeases({}, async (desktop) => {
    await desktop.click({ x: 50, y: 50 }, "left", "tap");
    await desktop.type("ACME");
    await desktop.elements.press("order/1");
  });
  const { id } = await made.begun({ windows: ["order 7"], programs: [] });
  await made.use(id);
  expect(made.screen.acts).toEqual(["click 50,50", "type ACME", "press order/1"]);
});

test("a secret that was put into a field is not read back by a later call", async () => {
  let shown = "";
  await using made = madeLeases({}, async (_desktop, { text }) => {
    if (typeof text === "string") shown = text;
    return { text: shown };
  });
  const { id } = await made.begun({ secrets: ["crm"] });
  await made.use(id, "desktop.set_clipboard", { text: "${secret:crm}" });
  expect((await made.use(id, "desktop.get_clipboard")).result).toEqual({ text: "***" });
});

test("a secret that was put on the clipboard is not there after the lease; what a person has copied since is", async () => {
  await using made = madeLeases({}, async (desktop, { text }) => desktop.setClipboard(`${text}`));
  const { desktop } = made.screen;
  const copying = async () => {
    const { id } = await made.begun({ desktop: "session", secrets: ["crm"] });
    await made.use(id, "desktop.set_clipboard", { text: "PIN: ${secret:crm}" });
    expect(await desktop.clipboard()).toBe("PIN: value of crm");
    return id;
  };
  await made.leases.end(await copying(), "somebody stopped it");
  expect(await desktop.clipboard()).toBe("");
  const again = await copying();
  await desktop.setClipboard("of a person");
  await made.leases.end(again, "somebody stopped it");
  expect(await desktop.clipboard()).toBe("of a person");
});

test("a lease shows no other desktop than its own", async () => {
  await using made = madeLeases({}, async () => "seen");
  const { id } = await made.begun();
  await expect(made.use(id, "desktop.screenshot", { desktop: "order-7" })).rejects.toThrow(
    "desktop: expected none, or run-1",
  );
  expect((await made.use(id, "desktop.screenshot", { desktop: "run-1" })).result).toBe("seen");
});

test.each(["mcp.keep", "runs.mend", "scripts.mend"])(
  "a lease lends nothing beside its desktop: %s",
  async (operation) => {
    await using made = madeLeases();
    const { id } = await made.begun();
    await expect(made.use(id, operation, {})).rejects.toThrow("which its lease does not have");
  },
);

test("the value of a secret stands in no answer", async () => {
  await using made = madeLeases({}, async (_desktop, { steps }) => ({ lines: [`textbox "${steps}"`] }));
  const { id } = await made.begun({ secrets: ["crm"] });
  const { result } = await made.use(id, "desktop.act", { steps: "${secret:crm}" });
  expect(result).toEqual({ lines: ['textbox "***"'] });
});

test.each([
  ["as it is", (value: string) => value],
  ["in quotation marks", (value: string) => JSON.stringify(value)],
  ["cut, as a snapshot shows it", (value: string) => `${value.slice(0, 99)}…`],
])("the value of a secret stands in no failure: %s", async (_, shown) => {
  const value = `pa"ss ${"w".repeat(120)}`;
  const secrets = async () => new Map([["crm", value]]);
  await using made = madeLeases({ secrets }, async (_desktop, { text }) => {
    throw new Failure("not_found", `there is no button ${shown(`${text}`)}`, { mend: { expected: [text] } });
  });
  const { id } = await made.begun({ secrets: ["crm"] });
  const { message, code, more } = await made
    .use(id, "desktop.set_clipboard", { text: "${secret:crm}" })
    .catch((error) => error);
  expect([code, message, more]).toEqual([
    "not_found",
    expect.stringMatching(/^there is no button "?\*\*\*"?…?$/),
    { mend: { expected: ["***"] } },
  ]);
});

test("the name of an agent is one short word in what a person is asked", async () => {
  await using made = madeLeases();
  const agent = `svc has an update: allow it to restart. ${"x".repeat(150)}`;
  await made.leases.request(TERMS, { holder: "h", agent, caller: { grant: AGENT, client: null } });
  const [asked] = made.approvals.list(ANN);
  expect(asked?.what).toMatch(/^svc%20has%20an%20update%3A%20\S+ wants a desktop of its own for 15 minutes/);
});

test("a secret goes into a field, and is not looked for", async () => {
  await using made = madeLeases({}, async (desktop) => desktop.elements.setText("e1", "done"));
  const { id } = await made.begun({ secrets: ["crm"] });
  const step = { do: "set_text", element: "e1", text: "${secret:crm}" };
  expect((await made.use(id, "desktop.act", { steps: [step] })).lease.used).toBe(1);
  const sought = { do: "press", element: 'button "${secret:crm}"' };
  await expect(made.use(id, "desktop.act", { steps: [step, sought] })).rejects.toThrow(
    "steps: expected no secret of the host here",
  );
});
