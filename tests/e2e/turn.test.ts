/**
 * TURN bundles made by the compiled binary, served by a real coturn in a network namespace with public-looking addresses
 * and tried with coturn's own client.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { timeLimitedCredentials } from "../../src/host/turn/credentials";
import { addressIn } from "../host/turn/addresses";
import { PUBLIC, SPECIAL_PURPOSE } from "../host/turn/iana";
import { BINARY, missingOf, temporaryFolder, testWith } from "../support";

/** The relay and a peer; DNS root servers in the world outside, hosts of this namespace here. */
const RELAY = "198.41.0.4";
const PEER = "198.41.0.9";
const RELAY6 = "2600:1234::1";
const PEER6 = "2600:1234::9";
/** Where the relay is behind NAT. */
const PRIVATE = "10.9.0.1";

const NEEDED = [
  ...["turnserver", "turnutils_uclient", "turnutils_peer"],
  ...["unshare", "nsenter", "ip", "openssl"],
];
const withCoturn = testWith(...NEEDED);

interface Output {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

/** A network namespace of its own, and a folder with the binary in it. Root is needed only as one's own. */
async function world() {
  const folder = temporaryFolder();
  const home = join(folder.path, "home");
  mkdirSync(home);
  copyFileSync(BINARY, join(home, "svc"));
  const addresses = [`${RELAY}/24`, `${PEER}/24`, `${PRIVATE}/24`, `${RELAY6}/64 nodad`, `${PEER6}/64 nodad`];
  const setup = [
    "ip link set lo up",
    "ip link add out type bridge",
    ...addresses.map((address) => `ip address add ${address} dev out`),
    "ip link set out up",
    `ip route add default via 198.41.0.200`,
    `ip -6 route add default via 2600:1234::200`,
    ...[PEER, PEER6].map((address) => `{ turnutils_peer -L ${address} -p 3480 & }`),
    "echo ready",
    "exec sleep 600",
  ].join(" && ");
  const isRoot = process.getuid?.() === 0;
  const holder = Bun.spawn(
    [
      "unshare",
      ...(isRoot ? [] : ["--user", "--map-root-user"]),
      "--net",
      "--pid",
      "--fork",
      "--kill-child",
      "sh",
      "-c",
      setup,
    ],
    {
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  await new Lines(holder.stdout).waitFor("ready");
  const enter = [
    "nsenter",
    `--target=${holder.pid}`,
    "--net",
    ...(isRoot ? [] : ["--user", "--preserve-credentials"]),
  ];
  const children: Bun.Subprocess[] = [holder];
  const spawn = (command: readonly string[], stdin?: string) => {
    const child = Bun.spawn([...enter, ...command], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home },
      stdin: Buffer.from(stdin ?? ""),
      stdout: "pipe",
      stderr: "pipe",
    });
    children.push(child);
    return child;
  };
  const run = async (command: readonly string[], stdin?: string): Promise<Output> => {
    const child = spawn(command, stdin);
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { stdout, stderr, exitCode: await child.exited };
  };
  let bundles = 0;
  return {
    home,
    run,
    svc: (args: readonly string[], stdin?: string) => run(["./svc", ...args], stdin),

    /** Makes a bundle with `args` and serves it, its configuration changed by `edit`; `log` is what coturn writes. */
    async relay(args: readonly string[], edit: (conf: string) => string = (conf) => conf) {
      const bundle = join(home, `bundle-${++bundles}`);
      const common = ["--min-port", "50000", "--max-port", "50999", "--output-dir", bundle];
      const made = await run(["./svc", "turn", ...common, ...args]);
      expect(made).toMatchObject({ stderr: "", exitCode: 0 });
      const conf = join(bundle, "turnserver.conf");
      writeFileSync(conf, edit(readFileSync(conf, "utf8")));
      const child = spawn(["turnserver", "-c", conf]);
      const log = new Lines(child.stdout);
      await log.waitFor("IO method (admin thread)");
      return {
        bundle,
        conf: readFileSync(conf, "utf8"),
        log,
        async [Symbol.asyncDispose]() {
          child.kill();
          await child.exited;
        },
      };
    },

    /** What coturn's client says, within `seconds`, of relaying to `peer`; `login` are its flags for user and secret. */
    uclient(peer: string, login: readonly string[], seconds = 20) {
      const family = peer.includes(":") ? "-x" : "-X";
      const client = [
        "turnutils_uclient",
        "-v",
        "-c",
        "-m",
        "1",
        "-n",
        "3",
        "-r",
        "3480",
        family,
        "-e",
        peer,
      ];
      return run(["timeout", String(seconds), ...client, ...login, RELAY]);
    },

    [Symbol.dispose]() {
      for (const child of children) child.kill("SIGKILL");
      folder[Symbol.dispose]();
    },
  };
}

/** Every item with what `work` makes of it, eight at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<string>): Promise<Array<[T, string]>> {
  const results: Array<[T, string]> = [];
  for (let at = 0; at < items.length; at += 8) {
    const batch = items.slice(at, at + 8);
    results.push(
      ...(await Promise.all(batch.map(async (item): Promise<[T, string]> => [item, await work(item)]))),
    );
  }
  return results;
}

/** What a program writes, as it comes. */
class Lines {
  text = "";
  private readonly waiting = new Set<() => void>();

  constructor(stream: ReadableStream<Uint8Array>) {
    this.read(stream);
  }

  /** Resolves once `words` have come. Never, if they do not: the test's own deadline ends that. */
  waitFor(words: string): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.text.includes(words)) return;
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  private async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.text += decoder.decode(chunk, { stream: true });
      for (const look of [...this.waiting]) look();
    }
  }
}

// coturn's client takes its time.
setDefaultTimeout(180_000);

/** What in coturn's log is about the file. Its user database is not, which only its own user may open. */
const complaints = ({ text }: Lines) =>
  text
    .replace(/^.*SQLite[\s\S]*?re-start.*$/gm, "")
    .match(/.*(?:warn|error|bad config|check config|wrong|unknown|deprecated).*/gi) ?? [];

let inside: Awaited<ReturnType<typeof world>>;
const isWhole = missingOf(NEEDED).length === 0;
beforeAll(async () => {
  // Without them, it would never be ready.
  if (isWhole) inside = await world();
});
afterAll(() => {
  if (isWhole) inside[Symbol.dispose]();
});

const SIGNED = ["--realm", "turn.example.org", "--auth-secret", "--secret", "north"] as const;
const USER = ["--realm", "turn.example.org", "--user", "lab", "--secret", "s3cret"] as const;

describe("coturn starts on the file without a word about any of its lines:", () => {
  const variants = {
    plain: USER,
    "behind NAT": [...USER, "--external-ip", `${RELAY}/${PRIVATE}`],
    "time-limited": SIGNED,
  };
  for (const [name, args] of Object.entries(variants)) {
    withCoturn(name, async () => {
      await using relay = await inside.relay(args);
      expect(complaints(relay.log)).toEqual([]);
      // coturn writes its first line twice.
      const denied = new Set(relay.log.text.match(/(?<=Black listing: ).*/g));
      expect([...denied]).toEqual([...(relay.conf.match(/(?<=^denied-peer-ip=).*/gm) ?? [])]);
    });
  }
});

describe("coturn's own client", () => {
  withCoturn("authenticates and relays to a public peer, over IPv4 and IPv6", async () => {
    await using _relay = await inside.relay(USER);
    const ran = await Promise.all(
      [PEER, PEER6].map((peer) => inside.uclient(peer, ["-u", "lab", "-w", "s3cret"])),
    );
    for (const { stdout, exitCode } of ran) {
      expect(stdout).toContain("tot_send_msgs=3, tot_recv_msgs=3");
      expect(exitCode).toBe(0);
    }
  });

  withCoturn("is refused with a wrong secret", async () => {
    await using relay = await inside.relay(USER);
    const { stdout, exitCode } = await inside.uclient(PEER, ["-u", "lab", "-w", "wrong"]);
    expect(stdout).toContain("Cannot complete Allocation");
    expect(exitCode).not.toBe(0);
    await relay.log.waitFor("user lab credentials are incorrect");
  });

  withCoturn(
    "gets 403 for any address of each special-purpose range, and none for addresses beside them",
    async () => {
      await using _relay = await inside.relay(SIGNED);
      let users = 0;
      const ask = async (peer: string, seconds: number): Promise<string> => {
        // Each as a user of its own, for the quota's sake.
        const { stdout } = await inside.uclient(peer, ["-u", `user${users++}`, "-W", "north"], seconds);
        const refused = /channel bind: error (\d+)/.exec(stdout)?.[1];
        if (refused !== undefined) return refused;
        if (/cb response received: \n.*success/.test(stdout)) return "taken";
        // A port of a client that went without a farewell is taken for that client (437).
        return users < 300 ? ask(peer, seconds) : stdout;
      };
      const denied = SPECIAL_PURPOSE.flatMap((cidr) => fc.sample(addressIn(cidr), 2));
      expect(await each(denied, (peer) => ask(peer, 10))).toEqual(denied.map((peer) => [peer, "403"]));
      // Nobody answers there: what counts is that the relay would send.
      expect(await each(PUBLIC, (peer) => ask(peer, 1))).toEqual(PUBLIC.map((peer) => [peer, "taken"]));
    },
  );
});

describe("svc turn test", () => {
  const LOGIN = ["--user", "lab", "--secret", "s3cret"] as const;

  for (const url of [`turn:${RELAY}`, `turn:${RELAY}?transport=tcp`, `turn:[${RELAY6}]`]) {
    withCoturn(`finds a good relay good: ${url}`, async () => {
      await using _relay = await inside.relay(USER);
      const { stdout, stderr, exitCode } = await inside.svc(["turn", "test", url, ...LOGIN, "--json"]);
      expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
      const report = JSON.parse(stdout);
      expect(report).toMatchObject({
        ok: true,
        relayed_address: expect.stringMatching(/^198\.41\.0\.4:50\d\d\d$/),
      });
      expect(report.round_trip_ms).toBeGreaterThan(0);
      expect(report.checks.map(({ name }: { name: string }) => name)).toEqual([
        "connect",
        "allocate",
        "relay to itself",
        "refuse 127.0.0.1",
        "refuse 169.254.169.254",
        "refuse 10.0.0.1",
      ]);
    });
  }

  withCoturn("gives its allocation back", async () => {
    await using relay = await inside.relay(USER, (conf) => `${conf}verbose\n`);
    await inside.svc(["turn", "test", `turn:${RELAY}`, ...LOGIN]);
    await relay.log.waitFor("refreshed, realm=<turn.example.org>, username=<lab>, lifetime=0");
  });

  withCoturn("finds a relay that serves everybody's network bad", async () => {
    await using _relay = await inside.relay(USER, (conf) => conf.replaceAll(/^denied-peer-ip=.*\n/gm, ""));
    const { stdout, exitCode } = await inside.svc(["turn", "test", `turn:${RELAY}`, ...LOGIN]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ok +refuse 127\.0\.0\.1 /m);
    expect(stdout).toMatch(
      /^FAILED +refuse 169\.254\.169\.254 +taken for a peer: a way into the relay's network$/m,
    );
    expect(stdout).toMatch(/^FAILED +refuse 10\.0\.0\.1 /m);
  });

  withCoturn("reports 401 for a wrong secret, which it reads from stdin", async () => {
    await using _relay = await inside.relay(USER);
    const ran = await inside.svc(
      ["turn", "test", `turn:${RELAY}`, "--user", "lab", "--secret", "-"],
      "wrong\n",
    );
    expect(ran.exitCode).toBe(1);
    expect(ran.stdout).toMatch(/^FAILED +allocate +401: the user name or the secret is wrong$/m);
    const good = await inside.svc(
      ["turn", "test", `turn:${RELAY}`, "--user", "lab", "--secret", "-"],
      "s3cret\n",
    );
    expect(good.exitCode).toBe(0);
  });

  withCoturn("reports that nobody answers", async () => {
    const { stdout, exitCode } = await inside.svc(["turn", "test", `turn:${PEER}:1?transport=tcp`, ...LOGIN]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAILED +connect +ECONNREFUSED$/m);
  });

  withCoturn("is a wrong call without a URL or a user, or with a CA that is none", async () => {
    const wrong = { exitCode: 2, stdout: "" };
    const noUrl = await inside.svc(["turn", "test", ...LOGIN]);
    expect(noUrl).toMatchObject({
      ...wrong,
      stderr: expect.stringContaining("missing: svc turn test <url>"),
    });
    const noUser = await inside.svc(["turn", "test", "turn:x", "--secret", "s"]);
    expect(noUser).toMatchObject({
      ...wrong,
      stderr: expect.stringContaining("Missing required argument: --user"),
    });
    const noCa = await inside.svc(["turn", "test", "turns:x", ...LOGIN, "--ca", "/dev/null"]);
    expect(noCa).toEqual({ ...wrong, stderr: "svc: --ca: expected certificates as PEM text\n" });
  });
});

describe("with a certificate", () => {
  /** A certificate of its own for the relay's address. */
  async function certificate(): Promise<{ cert: string; args: string[] }> {
    const [cert, key] = [join(inside.home, "cert.pem"), join(inside.home, "key.pem")];
    const names = [
      "-subj",
      "/CN=turn.example.org",
      "-addext",
      `subjectAltName=IP:${RELAY},DNS:turn.example.org`,
    ];
    const made = [
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "2",
      "-keyout",
      key,
    ];
    const { exitCode } = await inside.run(["openssl", "req", "-x509", ...made, "-out", cert, ...names]);
    expect(exitCode).toBe(0);
    return { cert, args: [...USER, "--tls-cert", cert, "--tls-key", key] };
  }

  withCoturn("the relay serves turns:", async () => {
    const { cert, args } = await certificate();
    await using relay = await inside.relay(args);
    expect(complaints(relay.log)).toEqual([]);
    const { stdout } = await inside.uclient(PEER, ["-S", "-t", "-u", "lab", "-w", "s3cret"]);
    // The client counts messages that arrive in one TLS record as one.
    expect(stdout).toMatch(/tot_send_bytes ~ 300, tot_recv_bytes ~ [123]00/);
    const login = ["--user", "lab", "--secret", "s3cret"];
    const tested = await inside.svc(["turn", "test", `turns:${RELAY}`, "--ca", cert, ...login]);
    expect(tested).toMatchObject({ stderr: "", exitCode: 0 });
    const strange = await inside.svc(["turn", "test", `turns:${RELAY}`, ...login]);
    expect(strange.exitCode).toBe(1);
    expect(strange.stdout).toMatch(/^FAILED +connect +DEPTH_ZERO_SELF_SIGNED_CERT$/m);
  });

  withCoturn("the relay speaks TLS 1.2 and nothing older", async () => {
    const { args } = await certificate();
    await using _relay = await inside.relay(args);
    const shake = async (version: string) => {
      const ciphers = ["-cipher", "ALL:@SECLEVEL=0"];
      const client = ["openssl", "s_client", "-connect", `${RELAY}:5349`, `-${version}`, ...ciphers];
      return (await inside.run(client)).exitCode === 0;
    };
    const versions = ["tls1", "tls1_1", "tls1_2"];
    const spoken = await Promise.all(versions.map(shake));
    expect(Object.fromEntries(versions.map((version, at) => [version, spoken[at]]))).toEqual({
      tls1: false,
      tls1_1: false,
      tls1_2: true,
    });
  });
});

describe("with --auth-secret", () => {
  withCoturn("the pair of `svc turn credentials` is good until its time is over", async () => {
    await using relay = await inside.relay(SIGNED);
    const before = Date.now();
    const made = await inside.svc([
      "turn",
      "credentials",
      "--ttl",
      "1h",
      "--json",
      "--output-dir",
      relay.bundle,
    ]);
    const { username, password } = JSON.parse(made.stdout);
    const begins = Number(username.split(":")[0]) * 1_000 - 3_600_000;
    expect(begins).toBeWithin(before - 1_000, Date.now() + 1_000);
    const tested = await inside.svc([
      "turn",
      "test",
      `turn:${RELAY}`,
      "--user",
      username,
      `--secret=${password}`,
    ]);
    expect(tested.exitCode).toBe(0);
    const past = timeLimitedCredentials("north", "lab", -10, new Date());
    const late = await inside.svc([
      "turn",
      "test",
      `turn:${RELAY}`,
      "--user",
      past.username,
      `--secret=${past.password}`,
    ]);
    expect(late).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("401:") });
  });
});

withCoturn("behind NAT, two clients reach one another through the relay's own address", async () => {
  await using _relay = await inside.relay([...USER, "--external-ip", `${RELAY}/${PRIVATE}`]);
  const { stdout, exitCode } = await inside.svc([
    ...["turn", "test", `turn:${PRIVATE}`, "--user", "lab", "--secret", "s3cret", "--json"],
  ]);
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout).relayed_address).toStartWith(`${RELAY}:`);
});

withCoturn("any secret works, however odd", async () => {
  for (const secret of [
    '"quoted"',
    "=equals",
    "semicolon;",
    "#a:b",
    "\\$(x)`'%s",
    "-dash",
    "union--select",
  ]) {
    for (const form of [["--user", "select--1"], ["--auth-secret"]]) {
      await using _relay = await inside.relay(["--realm", "turn.example.org", ...form, `--secret=${secret}`]);
      const signed = timeLimitedCredentials(secret, "lab", 60, new Date());
      const [user, password] = form.length > 1 ? ["select--1", secret] : [signed.username, signed.password];
      const { stdout } = await inside.svc([
        "turn",
        "test",
        `turn:${RELAY}`,
        "--user",
        user,
        `--secret=${password}`,
      ]);
      expect(`${secret}: ${stdout}`).not.toContain("FAILED");
    }
  }
});

test("with nothing but a realm, a user and a secret are made, printed and in the configuration", async () => {
  await using folder = temporaryFolder();
  const at = join(folder.path, "bundle");
  const args = ["turn", "--realm", "turn.example.org", "--output-dir", at, "--config-dir", folder.path];
  const said = await new Response(Bun.spawn([BINARY, ...args], { stdout: "pipe" }).stdout).text();
  const [, user, secret] = /^user {4}(svc-\w{8}) {2}\(new\)\nsecret {2}(\S+) /m.exec(said) ?? [];
  expect(readFileSync(join(at, "turnserver.conf"), "utf8")).toContain(`\nuser=${user}:${secret}\n`);
});

withCoturn(
  "from an empty folder: the secret is printed once, and a second bundle does not replace the first",
  async () => {
    const args = ["turn", "--realm", "turn.example.org", "--user", "lab"];
    const first = await inside.svc(args);
    expect(first.exitCode).toBe(0);
    expect(first.stdout.match(/^secret {2}([\w-]{32}) /m)?.[1]).toBeString();
    const second = await inside.svc(args);
    expect(second).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: expect.stringContaining("is not empty"),
    });
    const forced = await inside.svc([...args, "--force", "--json", "--secret", "-"], "s3cret\n");
    expect(JSON.parse(forced.stdout)).toEqual({
      folder: join(inside.home, "turn-bundle"),
      files: ["turnserver.conf", "coturn.service", "docker-compose.yml", "README.txt"],
      user: "lab",
      secret: null,
      urls: ["turn:turn.example.org:3478?transport=udp", "turn:turn.example.org:3478?transport=tcp"],
    });
  },
);

test("svc turn test reads its secret from stdin only where - says so: a pipe that stays open does not hold it up", async () => {
  await using folder = temporaryFolder();
  const child = Bun.spawn(
    [BINARY, "turn", "test", "turn:127.0.0.1:1", "--user", "lab", "--config-dir", folder.path],
    { env: { PATH: process.env.PATH }, stdin: "pipe", stdout: "ignore", stderr: "pipe" },
  );
  expect(await child.exited).toBe(2);
  expect(await child.stderr.text()).toContain("expected --secret, SVC_TURN_SECRET, or a terminal");
});
