/** The leases of agents in this process: which desktops they get, and what acts on them. */
import { callOperation } from "../core/call";
import type { Caller } from "../core/caller";
import type { Operation } from "../core/operation";
import { OWNER, PERMISSIONS } from "../core/rights";
import type { MayUse } from "../host/desktop/screen/record/recordings";
import type { Leases } from "../host/leases/leases";
import type { LeasePlace, LeasesParts } from "../host/leases/parts";
import { forbidden, notFound } from "../lib/errors";
import type { ServiceParts } from "./parts";

/** What a file of a recording may have at most, in bytes. */
const FILM_BYTES = 1_024 * 1_048_576;
/** Pictures a second. */
const FILM_FPS = 4;

export async function createOwnLeases({ service, log, publish, revocations }: ServiceParts): Promise<Leases> {
  const [{ Leases }, { SESSION }, { offeredInLease }] = await Promise.all([
    import("../host/leases/leases"),
    import("../host/leases/lease"),
    import("../host/mcp/toolsets"),
    // Made first, so that it stops last.
    service.desktop(),
  ]);
  const open: LeasesParts["open"] = async (desktop, id, grant, signal) => {
    const ends: Array<() => Promise<void>> = [];
    let isOver = false;
    // What was about to start when it ended ends at once.
    const atEnd = (work: () => Promise<void>) =>
      isOver ? void work().catch(() => {}) : void ends.push(work);
    const starter = { id, atEnd };
    const own = desktop === SESSION ? undefined : await service.leaseDesktop(desktop, id, grant, signal);
    const place: LeasePlace = {
      name: own?.name ?? null,
      desktop: own?.desktop ?? (await service.desktop()),
      lost: own?.lost,
      async launch(command) {
        if (!service.permits("shell")) throw forbidden(`start ${PERMISSIONS.shell}`);
        await (await service.programs()).launch({ command, detach: false }, starter, own?.session);
      },
      async end() {
        isOver = true;
        await Promise.allSettled(ends.map((work) => work()));
        await own?.end();
      },
    };
    return place;
  };
  return new Leases({
    log,
    publish,
    open,
    approvals: service.approvals,
    async record(detail) {
      await (await service.audit())?.log("lease", { detail });
    },
    untilRevoked: revocations.until,
    offered: (toolsets) => offeredInLease(toolsets),
    async operation(name) {
      const found = (await service.operations()).find((one) => one.name === name);
      if (!found) throw notFound(`there is no operation ${name}`);
      return found;
    },
    async perform(operation, input, desktop, caller, { input: written, secrets }) {
      const on = Object.create(service, {
        desktop: { value: async (name?: string) => (name === undefined ? desktop : service.desktop(name)) },
      });
      const journal = await service.agentJournal();
      // What an agent did is kept as it wrote it.
      const call = (one: Operation, _: unknown, asked: Caller) => callOperation(on, one, input, asked);
      return journal.remember(operation, written, caller, call, secrets);
    },
    secrets: async (names) => (await service.secrets()).read(names),
    async film(id, desktop, ms) {
      const recordings = await service.recordings();
      const { name } = OWNER;
      const run = `lease ${id}`;
      const request = { file: undefined, token: name, share: null, run, fps: FILM_FPS };
      const limits = { maxMs: ms, maxBytes: FILM_BYTES };
      // Where it has ended by itself, another one may go on by then, of somebody else.
      const isOwn: MayUse = (origin) => origin.run === run;
      await recordings.start({ ...request, ...limits, desktop: desktop ?? undefined }, isOwn);
      return async () => {
        if (recordings.current(isOwn)) await recordings.stop(isOwn);
      };
    },
  });
}
