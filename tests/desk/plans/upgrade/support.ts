/** Hosts that a desk upgrades, with shell scripts as programs and a daemon that the test plays. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { signFile } from "../../../../build/package/sign";
import type { InputSchema, Operation, OutputSchema } from "../../../../src/core/operation";
import { installUpgrade, receiveUpgrade, showUpgrade } from "../../../../src/host/jobs/upgrade-operations";
import { createFromDesk, type FromDesk } from "../../../../src/host/release/from-desk";
import { carryOut } from "../../../../src/host/release/order";
import type { Daemon } from "../../../../src/host/release/upgrade";
import { operations } from "../../../../src/operations";
import type { Service } from "../../../../src/service/service";
import type { ReleasedBinary } from "../../../../src/wire/release/released-binary";
import { INSTALL } from "../../../../src/wire/release/upgrade-messages";
import { type Difference, STATE_COMPARISON } from "../../../../src/wire/state/messages";
import { readWanted } from "../../../../src/wire/state/wanted";
import { madeUpJob } from "../../../host/jobs/support";
import { makeKey } from "../../../host/release/support";
import { temporaryFolder, testServer } from "../../../support";

export const TARGET = "linux-x64";

/** A program that says what it is, of so many bytes. */
const script = (version: string, size = 0) =>
  `#!/bin/sh\necho '${JSON.stringify({ version, target: TARGET })}'\nexit 0\n`.padEnd(size, "#");

const versionIn = (program: string) => /"version":"([^"]*)"/.exec(program)?.[1] ?? "";

/** A release of several pieces, in a folder that is the store of a desk. */
export async function release(version: string, target = TARGET, size = 1_500_000) {
  const folder = temporaryFolder();
  const { secret } = makeKey(folder.path);
  const bytes = Buffer.from(script(version, size));
  const sha256 = Bun.SHA256.hash(bytes, "hex");
  const store = join(folder.path, "releases");
  mkdirSync(store);
  const path = join(store, sha256);
  writeFileSync(path, bytes);
  const signature = readFileSync(await signFile(secret, path, `svc ${version} ${target}`), "utf8");
  const file: ReleasedBinary = { target, version, size: bytes.length, sha256, signature };
  return {
    ...{ file, store, key: secret.publicKey },
    job: (more: Parameters<typeof madeUpJob>[1] = {}, parts: Parameters<typeof madeUpJob>[0] = {}) =>
      madeUpJob({ actions: [[INSTALL, { files: [file] }]], ...parts }, more),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** How a host differs that has this version, where a state wants that one. */
const otherVersion = (found: string, wanted: string): Difference => ({
  ...{ kind: "version", name: "version", state: "differs", by: "hand", drift: true, found, wanted },
});

/** What compares a host with a state, which has the version that `runs` says in place of that of this build. */
function comparing(compare: Operation, runs: () => string, asked: How["asked"]): Operation {
  return {
    ...compare,
    async run(service, input, caller) {
      await asked?.(runs());
      const answer = v.parse(STATE_COMPARISON, await compare.run(service, input, caller));
      const { wanted } = readWanted(String(Object(input).state));
      const others = answer.differences.filter(({ kind }) => kind !== "version");
      const isSame = wanted.version === undefined || wanted.version === runs();
      const differences = isSame ? others : [...others, otherVersion(runs(), `${wanted.version}`)];
      return { ...answer, differences, drift: differences.some(({ drift }) => drift) };
    },
  };
}

/** How a host is. */
interface How {
  readonly key: Awaited<ReturnType<typeof release>>["key"];
  /** The versions that answer once they were started. */
  readonly ready?: readonly string[];
  /** Where its program is, if not in a folder of its own. */
  readonly binary?: string;
  readonly daemon?: Partial<Daemon>;
  /** Whether it runs as no service. */
  readonly isAlone?: boolean;
  /** Is called with its version before it answers how it differs from a state. */
  readonly asked?: (version: string) => Promise<void>;
}

/** A server of version 0.1.0 whose daemon the test plays. */
export async function upgradableHost({ key, ready = ["0.2.0"], daemon = {}, isAlone, asked, ...how }: How) {
  const folder = temporaryFolder();
  const program = join(folder.path, "svc");
  writeFileSync(program, script("0.1.0"), { mode: 0o755 });
  const running = () => versionIn(readFileSync(program, "utf8"));
  let runs = "0.1.0";
  let pid = 1;
  let apart: Promise<void> = Promise.resolve();
  const own: Daemon = {
    ...{ name: "the daemon", mayRestart: true, byRoot: false },
    answering: () => pid,
    endsThis: () => false,
    requireReadable() {},
    async restart() {
      pid++;
      runs = running();
    },
    async startApart(command) {
      apart = carryOut(place, command.at(-1) ?? "", async () => ({
        ...{ binary: program, version: "0.1.0", target: TARGET, key, readyMs: 0, requireReadable() {} },
        daemons: [{ ...own, ...daemon }],
      }));
    },
    isReady: async (_pid, version) => version === runs && [...ready, "0.1.0"].includes(version),
  };
  const place = join(folder.path, "upgrade");
  /** As the process that runs now. */
  const fromDesk = (): FromDesk =>
    createFromDesk({
      ...{ folder: place, binary: how.binary ?? program, version: runs, target: TARGET, key },
      ...{ compiled: true, pid },
      daemons: async () => (isAlone ? [] : [{ ...own, ...daemon }]),
    });
  const here = <I extends InputSchema, O extends OutputSchema>(one: Operation<I, O, Service>) => ({
    ...one,
    run: (service: Service, ...rest: [Parameters<typeof one.run>[1], Parameters<typeof one.run>[2]]) =>
      one.run({ ...service, fromDesk: async () => fromDesk() }, ...rest),
  });
  const names: string[] = [showUpgrade, receiveUpgrade, installUpgrade].map(({ name }) => name);
  const table: Operation[] = [
    ...operations
      .filter(({ name }) => !names.includes(name))
      .map((one) => (one.name === "state.compare" ? comparing(one, () => runs, asked) : one)),
    ...[here(showUpgrade), here(receiveUpgrade), here(installUpgrade)],
  ];
  const host = await testServer({ service: { operations: table } });
  return {
    ...{ ...host, fromDesk, running, place },
    /** Resolves once an upgrade that has begun is over. */
    over: () => apart,
    async [Symbol.asyncDispose]() {
      await apart;
      await host[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
