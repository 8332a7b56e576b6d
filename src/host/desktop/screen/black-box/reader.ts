/** The process that reads the black box, from its parent's side: started when it is first asked, and ended when nobody has asked for a while. */
import { type Remote, remote } from "../../../../lib/child";
import { createIdleChild } from "../../../../lib/idle-child";
import type { Log } from "../../../../lib/log";
import { selfCommand } from "../../../../lib/self-command";
import { createSlots, Requester } from "../../../../lib/slots";
import { READING, type ReadingCalls } from "./reading-calls";

/** How long a call may take, in milliseconds: a film of an hour is made of thousands of pictures. */
const [DEADLINE_MS, FILM_MS] = [60_000, 600_000];
const IDLE_MS = 30_000;

/** How many of tokens may wait for a look, and for a film. */
const [MOST_LOOKS, MOST_FILMS] = [64, 16];

/** Reads the black box, each call in the turn of a requester. */
export interface BoxReader extends Remote<ReadingCalls, [requester: Requester]> {
  stop(): Promise<void>;
}

/** @param command of the child (default: svc's own). */
export function createBoxReader(log: Log, command = selfCommand(["black-box-child"])): BoxReader {
  const { call, stop } = createIdleChild<ReadingCalls>(
    { command, log, what: "the reader of the black box", protocol: READING },
    IDLE_MS,
  );
  const looks = createSlots({
    most: 1,
    ownersOwn: 1,
    what: "looks at the black box",
    mostWaiting: MOST_LOOKS,
  });
  const films = createSlots({
    most: 1,
    ownersOwn: 1,
    what: "films of the black box",
    mostWaiting: MOST_FILMS,
  });
  return remote<BoxReader>(
    (method, args) => {
      const requester = args.find((one) => one instanceof Requester) ?? new Requester(null);
      const sent = args.filter((one) => one !== requester);
      return (method === "film" ? films : looks).run(requester, () =>
        call(method, sent, method === "film" ? FILM_MS : DEADLINE_MS),
      );
    },
    { stop },
  );
}
