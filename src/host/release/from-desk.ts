/**
 * Upgrading this host from its desk: what it has, the pieces of a newer program, and the begin of the upgrade.
 *
 * Promises. A host that cannot be upgraded so says why before anything is sent to it. It begins only with a file that is whole and signed by
 * the release key, and answers what became of it under the id of the job, also as the new version.
 */
import { dirname } from "node:path";
import { conflict, Failure, forbidden, unavailable } from "../../lib/errors";
import { ensurePrivateFolder } from "../../lib/files";
import { selfCommand } from "../../lib/self-command";
import type { OwnProgram } from "../../wire/release/candidate";
import { createIncomingBinary } from "../../wire/release/incoming-binary";
import type { PublicKey } from "../../wire/release/minisign";
import { binaryFor, isNoNews, type ReleasedBinary } from "../../wire/release/released-binary";
import type { HostStatus, UploadState } from "../../wire/release/upgrade-messages";
import { lastUpgrade, readOrder, writeOrder } from "./order";
import { type Daemon, requireMayReplace, requireNoPackage } from "./upgrade";

export interface FromDeskOptions extends OwnProgram {
  readonly folder: string;
  /** Null in a build without one. */
  readonly key: PublicKey | null;
  readonly compiled: boolean;
  readonly pid: number;
  /** That of this process by default. */
  readonly platform?: NodeJS.Platform;
  daemons(): Promise<readonly Daemon[]>;
}

/** Takes programs that a desk sends, and upgrades to them. */
export interface FromDesk {
  status(): Promise<HostStatus>;
  /**
   * Takes a piece of the file for this host; as `receive` of `incoming-binary.ts`.
   *
   * @param begins is called before the first piece of a file is taken. When it throws, none is.
   * @throws also why this host takes no file.
   */
  receive(
    files: readonly ReleasedBinary[],
    offset: number,
    piece: Uint8Array,
    begins: (file: ReleasedBinary) => Promise<void>,
  ): Promise<UploadState>;
  /**
   * Begins the upgrade, in a process that goes on when this one ends. @returns from which version to which.
   *
   * @param id of the job, under which the host answers what became of it.
   * @param announce is called before it begins. When it throws, it does not.
   */
  begin(
    files: readonly ReleasedBinary[],
    id: string,
    announce: (detail: string) => Promise<void>,
  ): Promise<{ readonly from: string; readonly to: string }>;
  /** Removes a file that came no further for long, or whose upgrade is over: root removes none. */
  forgetOld(): void;
}

export function createFromDesk(options: FromDeskOptions): FromDesk {
  const { folder, binary, version, target, key, compiled } = options;
  /** Whether an upgrade begins that is not in the order yet. */
  let isBeginning = false;
  const incoming =
    key && createIncomingBinary({ folder, own: { version, target }, key, programs: dirname(binary) });

  const ownDaemon = () => ownDaemonOf(options);
  const required = () => {
    if (incoming) return incoming;
    throw unavailable("this svc has no release key: upgrade it by hand to a release that has one");
  };
  /** The file for this host. @throws `conflict` where there is none, or it is not newer. */
  const mine = (files: readonly ReleasedBinary[]): ReleasedBinary => {
    const file = binaryFor(files, target);
    if (!file) throw conflict(`no file is for ${target}, the target of this host`);
    if (isNoNews(file, version))
      throw conflict(`the file is ${file.version}, not newer than the svc of this host (${version})`);
    return file;
  };

  return {
    async status() {
      const refusal = await ownDaemon().then(
        () => null,
        (error) => {
          if (error instanceof Failure) return error.message;
          throw error;
        },
      );
      const last = compiled ? lastUpgrade(folder, binary, version) : null;
      return { version, target, refusal, incoming: incoming?.state() ?? null, last };
    },
    async receive(files, offset, piece, begins) {
      const file = mine(files);
      if (offset === 0) {
        await ownDaemon();
        await begins(file);
      }
      return required().receive(file, offset, piece);
    },
    async begin(files, id, announce) {
      const own = await ownDaemon();
      const file = mine(files);
      // Nothing is awaited between this and the claim.
      if (isBeginning || lastUpgrade(folder, binary, version)?.ok === null)
        throw conflict("an upgrade is under way on this host");
      if (!required().complete(file))
        throw conflict("the file of the upgrade is not on this host: repeat the plan, which sends it");
      isBeginning = true;
      try {
        const { sha256, version: to } = file;
        await announce(`upgrade ${version} -> ${to} sha256:${sha256} by the key ${key?.id}`);
        ensurePrivateFolder(folder);
        const began = new Date().toISOString();
        const order = { format: 1, id, from: version, to, sha256, began, pid: null } as const;
        writeOrder(folder, { ...order, ended: null, error: null });
        // Else root sees the order.
        try {
          if (!own.byRoot) await own.startApart(selfCommand(["upgrade-child", folder, id]));
        } catch (error) {
          writeOrder(folder, { ...order, ended: began, error: "it could not be started" });
          throw error;
        }
        return { from: version, to };
      } finally {
        isBeginning = false;
      }
    },
    forgetOld() {
      const order = compiled ? readOrder(folder) : null;
      const isOver = order !== null && lastUpgrade(folder, binary, version)?.ok !== null;
      incoming?.forgetOld(isOver ? order.sha256 : undefined);
    },
  };
}

/** The daemon that this process is. @throws why this host cannot be upgraded from afar. */
async function ownDaemonOf(options: FromDeskOptions): Promise<Daemon> {
  const { binary, key, compiled, pid, platform = process.platform } = options;
  if (!compiled) throw unavailable("this svc runs from its source: there is no program to replace");
  if (!key) throw unavailable("this svc has no release key: upgrade it by hand to a release that has one");
  requireNoPackage(binary);
  // What the Task Scheduler ends may take this process along, and then nobody goes back.
  if (platform === "win32")
    throw unavailable("on Windows, a desk cannot upgrade svc: upgrade it by hand with `svc upgrade`");
  const daemons = await options.daemons();
  const own = daemons.find((daemon) => daemon.answering() === pid);
  if (!own)
    throw conflict(
      "this server does not run as a service (`svc service install`): upgrade it by hand with `svc upgrade`",
    );
  const other = daemons.find((daemon) => !(daemon.mayRestart || (daemon === own && own.byRoot)));
  if (other)
    throw forbidden(
      `${other.name} runs ${binary}, and only root may start it anew: run \`svc upgrade\` there as root, or once \`svc service install --system\` with the flags that it has, for upgrades by a desk`,
    );
  if (!own.byRoot) requireMayReplace(binary);
  return own;
}
