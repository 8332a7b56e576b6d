/** The two ends of a `files` channel in one process. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { INCOMING, openInbox } from "../../../src/host/peers/inbox";
import { FileReceiver, type ReceiverOptions } from "../../../src/host/peers/receive";
import { FileSender, Window } from "../../../src/host/peers/send";

/** A receiver on an inbox of its own, what it replied, and what it stored. */
export function receiverIn(
  home: string,
  {
    quota = 0,
    replied = () => {},
    ...options
  }: Partial<ReceiverOptions> & { quota?: number; replied?: () => void } = {},
) {
  const inbox = openInbox({
    ...{ folder: join(home, "inbox"), index: join(home, "inbox.db"), sender: "peer-1" },
    ...{ quota, maxFiles: 0, minFree: 0 },
  });
  const replies: Array<Record<string, unknown>> = [];
  const receiver = new FileReceiver({
    begin: inbox.begin,
    blocks: true,
    ...options,
    reply(message) {
      replies.push(message);
      replied();
    },
  });
  const root = join(home, "inbox", "peer-1");
  mkdirSync(root, { recursive: true });
  const say = (message: unknown) => receiver.text(JSON.stringify(message));
  const begin = (id: string, size: number, name = "file") =>
    say({ type: "file_begin", name, size, transfer_id: id, acks: true });
  const end = (id: string, more = {}) => say({ type: "file_end", transfer_id: id, ...more });
  const bytes = (text: string) => receiver.bytes(Buffer.from(text));
  const underWay = () => readdirSync(join(home, "inbox", INCOMING));
  const left = () => [...readdirSync(root), ...underWay()];
  return { inbox, receiver, replies, root, say, begin, end, bytes, left, underWay };
}

/** A sender and a receiver joined by a link that delivers a message at each turn of the event loop. */
export function joined(
  home: string,
  { acks = true, blocks = false, deliver = true, stallMs = 20_000, quota = 0 } = {},
) {
  const window = new Window();
  const peer = receiverIn(home, { quota, replied: () => setImmediate(answer) });
  const queue: Array<string | Uint8Array> = [];
  let [most, waiting, travelled] = [0, 0, 0];
  let isCut = false;
  const pump = () => {
    const next = queue.shift();
    if (next === undefined || isCut) return;
    if (typeof next === "string") peer.receiver.text(next);
    else {
      waiting -= next.byteLength;
      peer.receiver.bytes(next);
    }
    window.notify();
  };
  const answer = () => {
    for (const reply of peer.replies.splice(0)) {
      if (isCut) return;
      const text = JSON.stringify(reply);
      travelled += text.length;
      sender.text(text);
    }
  };
  const put = (message: string | Uint8Array) => {
    travelled += message.length;
    queue.push(message);
    if (deliver) setImmediate(pump);
  };
  const sender = new FileSender(
    {
      sendText: put,
      sendBytes(bytes) {
        waiting += bytes.byteLength;
        most = Math.max(most, waiting);
        put(Uint8Array.from(bytes));
      },
      buffered: () => waiting,
    },
    { acks, blocks, window, stallMs },
  );
  return {
    sender,
    peer,
    most: () => most,
    /** How many bytes went over the link, in both directions. */
    travelled: () => travelled,
    /** Ends the link. @param crash whether the receiver never learns of it. */
    cut(crash = false): void {
      isCut = true;
      sender.close();
      if (!crash) peer.receiver.close();
      peer.inbox[Symbol.dispose]();
    },
  };
}
