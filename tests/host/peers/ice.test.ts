import { describe, expect, test } from "bun:test";
import { readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { iceOfFlags, readIceConfig } from "../../../src/host/peers/ice";
import { findIdentity, readIdentity, watchIdentity } from "../../../src/host/peers/identity";
import { temporaryFolder } from "../../support";

function readFrom(content: unknown) {
  using home = temporaryFolder();
  const path = join(home.path, "ice.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return readIceConfig(path);
}

describe("ice.json", () => {
  test("names STUN and TURN servers as browsers do", () => {
    const servers = [
      { urls: "stun:stun.example.org" },
      {
        urls: ["turn:turn.example.org:3479?transport=udp", "turn:[2001:db8::1]"],
        username: "u",
        credential: "s",
      },
    ];
    expect(readFrom({ ice_servers: servers, transport_policy: "relay" })).toEqual({
      relayOnly: true,
      servers: [
        { hostname: "stun.example.org", port: 3478 },
        { hostname: "turn.example.org", port: 3479, username: "u", password: "s", relayType: "TurnUdp" },
        { hostname: "2001:db8::1", port: 3478, username: "u", password: "s", relayType: "TurnUdp" },
      ],
    });
  });

  test("may be missing: then peers connect directly", () => {
    expect(readIceConfig("/nowhere/ice.json")).toEqual({ servers: [], relayOnly: false });
  });

  test.each([
    ["not JSON", "{", "is not JSON"],
    ["an unknown field", { servers: [] }, "ice.json: servers: unknown field"],
    ["the servers alone", [], "ice.json: expected an object but found an array"],
    [
      "TURN over TLS",
      { ice_servers: [{ urls: "turns:x", username: "u", credential: "s3cret" }] },
      "not supported",
    ],
    [
      "TURN over TCP",
      { ice_servers: [{ urls: "turn:x?transport=tcp", username: "u", credential: "s3cret" }] },
      "not supported",
    ],
    ["a credential in a URL", { ice_servers: [{ urls: "turn:user:s3cret@x" }] }, "turn:…@x"],
    ["a port out of range", { ice_servers: [{ urls: "stun:x:70000" }] }, "stun:HOST"],
    [
      "a relay without a user",
      { ice_servers: [{ urls: "turn:x", credential: "s3cret" }] },
      "needs username and credential",
    ],
    ["relays only, without a TURN server", { transport_policy: "relay" }, "no turn: server"],
    [
      "a credential that is not text",
      { ice_servers: [{ urls: "turn:x", username: "u", credential: { s3cret: 1 } }] },
      "credential",
    ],
  ])("with %s is refused, and the message has no secret", (_what, content, message) => {
    expect(() => readFrom(content)).toThrow(message);
    expect(() => readFrom(content)).not.toThrow("s3cret");
  });

  test("is replaced by the flags, if there are any", () => {
    using home = temporaryFolder();
    const ice_secret_file = join(home.path, "secret");
    writeFileSync(ice_secret_file, "s3cret\n");
    const none = { ice_server: [], relay_only: false };
    expect(iceOfFlags(none)).toBeUndefined();
    for (const flags of [{ ice_user: "u" }, { ice_secret_file }, { relay_only: true }])
      expect(() => iceOfFlags({ ...none, ...flags })).toThrow("ice-server: missing");
    const turn = { ice_server: ["turn:relay"], ice_user: "u", ice_secret_file, relay_only: true };
    expect(iceOfFlags(turn)).toEqual({
      relayOnly: true,
      servers: [{ hostname: "relay", port: 3478, username: "u", password: "s3cret", relayType: "TurnUdp" }],
    });
  });
});

describe("an identity", () => {
  test("is made once, private, and safe as the name of a folder", () => {
    using home = temporaryFolder();
    const path = join(home.path, "viewer_id");
    expect(findIdentity(path)).toBeNull();
    const id = readIdentity(path);
    expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9-]*-[0-9a-f]{8}$/);
    expect([readIdentity(path), findIdentity(path), readFileSync(path, "utf8").trim()]).toEqual([id, id, id]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("is known from memory, until the file has changed and is looked at", () => {
    using home = temporaryFolder();
    const path = join(home.path, "host_id");
    const { known, look } = watchIdentity(path);
    expect(known()).toBeNull();
    const id = readIdentity(path);
    look();
    expect(known()).toBe(id);
    writeFileSync(path, "no id");
    expect(known()).toBe(id);
    look();
    expect(known).toThrow("host_id: expected");
  });

  test("is read at each call until the system lets it be read", () => {
    using home = temporaryFolder();
    const [path, elsewhere, other] = ["host_id", "elsewhere", "other"].map((name) =>
      join(home.path, name),
    ) as [string, string, string];
    const id = readIdentity(elsewhere);
    // Two links that lead to each other are a fault of the system for every user.
    symlinkSync(path, other);
    symlinkSync(other, path);
    const { known, look } = watchIdentity(path);
    expect(known).toThrow("ELOOP");
    rmSync(other);
    renameSync(elsewhere, other);
    expect(known()).toBe(id);
    look();
    expect(known()).toBe(id);
  });

  test.each(["../x", "x", "-x-", "NUL", "com1"])(
    "%s, which is not a folder name on every platform, is refused",
    (name) => {
      using home = temporaryFolder();
      const path = join(home.path, "viewer_id");
      writeFileSync(path, name);
      expect(() => readIdentity(path)).toThrow("viewer_id: expected 2 to 64 letters");
    },
  );
});
