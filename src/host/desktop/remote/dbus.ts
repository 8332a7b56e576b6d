/**
 * A connection to the session bus that passes descriptors: method calls, each with a limit of time, and signals. On Linux.
 */
import { closeSync } from "node:fs";
import { deadline } from "../../../lib/deadline";
import { Failure, messageOf, timedOut, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { sessionBusAddress, socketPathIn } from "../bus-address";
import { connectSocket } from "../wayland/socket";
import {
  type BusMessage,
  type BusValue,
  callMessage,
  HEAD_SIZE,
  MESSAGE_TYPE,
  messageSize,
  readMessage,
  type Value,
} from "./dbus-wire";

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 4_000;
const BUS = { path: "/org/freedesktop/DBus", face: "org.freedesktop.DBus" } as const;
const BUS_NAME = "org.freedesktop.DBus";
/** How many descriptors may wait for their messages. */
const MAX_DESCRIPTORS = 64;

/** What is called: an object, one of its interfaces, a method. */
export interface Method {
  readonly path: string;
  readonly face: string;
  readonly member: string;
}

/** A connection to the session bus. */
export interface SessionBus {
  /**
   * What the method answers.
   *
   * @param to the name of a program on the bus. @param ms how long the answer may take, where that is more than usual.
   * @throws `unavailable` with what it says, `timeout`.
   */
  call(
    to: string,
    method: Method,
    signature?: string,
    values?: readonly Value[],
    ms?: number,
  ): Promise<readonly BusValue[]>;
  /**
   * The descriptor that the method answers with, which is the caller's to close from then on.
   *
   * @throws as {@link SessionBus.call}; `unavailable` where the answer is anything else: what is no descriptor may be the number of one of this process.
   */
  descriptor(to: string, method: Method, signature?: string, values?: readonly Value[]): Promise<number>;
  /** The unique name of who owns `name`, and its process; undefined where nobody does. */
  ownerOf(name: string): Promise<{ readonly name: string; readonly pid: number } | undefined>;
  /** Has `take` called with the signals of `sender` (a unique name) from now on. */
  follow(sender: string, take: (signal: BusMessage) => void): Promise<void>;
  close(): void;
}

/** A call that waits for its answer. */
interface PendingCall extends Pick<PromiseWithResolvers<BusMessage>, "resolve" | "reject"> {
  /** Whether a descriptor is kept that it answers with. */
  readonly isForDescriptor: boolean;
}

/** @param lost called when the bus has gone. @returns undefined where there is no session bus. @throws where it does not let this user in. */
export async function openSessionBus(
  env: NodeJS.ProcessEnv,
  lost: () => void,
): Promise<SessionBus | undefined> {
  const path = socketPathIn(sessionBusAddress(env));
  if (path === undefined) return undefined;
  const calls = createCalls((bytes) => socket?.send(bytes));
  const followers = new Map<string, (signal: BusMessage) => void>();
  const descriptors: number[] = [];
  let isOpen = true;
  const end = (why: string) => {
    if (!isOpen) return;
    isOpen = false;
    socket?.close();
    for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
    calls.end(why);
    greeting.reject(unavailable(why));
  };
  const take = (message: BusMessage) => {
    closeUnused(message, calls.take(message));
    if (message.type === MESSAGE_TYPE.signal) followers.get(message.sender ?? "")?.(message);
  };
  const greeting = Promise.withResolvers<void>();
  greeting.promise.catch(() => {});
  const receive = receiver(
    descriptors,
    take,
    greeter((text) => socket?.send(Buffer.from(text)), greeting),
  );
  const socket = connectSocket(path, {
    received(bytes, arrived) {
      try {
        descriptors.push(...arrived);
        if (descriptors.length > MAX_DESCRIPTORS) throw new RangeError("too many descriptors wait");
        receive(Buffer.from(bytes));
      } catch (error) {
        end(`the session bus sent what is no message (${messageOf(error)})`);
        lost();
      }
    },
    ended() {
      end("the session bus went away");
      lost();
    },
  });
  if (!socket) return undefined;
  const call: SessionBus["call"] = async (...asked) => (await calls.ask(false, asked)).body;
  const askBus = (member: string, signature: string, values: readonly Value[]) =>
    call(BUS_NAME, { ...BUS, member }, signature, values);
  // D-Bus Specification, "Authentication Protocol": a null byte, then who this is, which the socket proves.
  socket.send(Buffer.from(`\0AUTH EXTERNAL ${Buffer.from(`${process.getuid?.()}`).toString("hex")}\r\n`));
  try {
    await deadline(greeting.promise, { ms: ANSWER_MS });
    await askBus("Hello", "", []);
  } catch (error) {
    end("the session bus did not let this program in");
    throw error;
  }
  return {
    call,
    async descriptor(...asked) {
      const answer = await calls.ask(true, asked);
      const descriptor = descriptorIn(answer);
      if (descriptor !== undefined) return descriptor;
      const [to, { member }] = asked;
      throw unavailable(
        `${to} answered ${member} with (${printable(answer.signature, 50)}): expected a descriptor, (h)`,
      );
    },
    async ownerOf(name) {
      const [has] = await askBus("NameHasOwner", "s", [name]);
      if (has !== true) return undefined;
      const [[owner], [pid]] = await Promise.all([
        askBus("GetNameOwner", "s", [name]),
        askBus("GetConnectionUnixProcessID", "s", [name]),
      ]);
      return { name: String(owner), pid: Number(pid) };
    },
    async follow(sender, follower) {
      followers.set(sender, follower);
      await askBus("AddMatch", "s", [`type='signal',sender='${sender}'`]);
    },
    close: () => end("the connection to the session bus was closed"),
  };
}

/** The calls that wait for their answers. */
interface Calls {
  /** @throws `unavailable` with what the other program says, and once they have ended; `timeout`. */
  ask(isForDescriptor: boolean, call: Parameters<SessionBus["call"]>): Promise<BusMessage>;
  /** Gives an answer to whom it is for. @returns the descriptor in it that is kept; undefined for any other message. */
  take(message: BusMessage): number | undefined;
  /** Ends them all, for the reason `why`. */
  end(why: string): void;
}

function createCalls(send: (bytes: Buffer) => void): Calls {
  const waiting = new Map<number, PendingCall>();
  let serials = 0;
  let ended: string | undefined;
  return {
    async ask(isForDescriptor, [to, method, signature = "", values = [], most = 0]) {
      if (ended !== undefined) throw unavailable(ended);
      const serial = ++serials;
      const asked = Promise.withResolvers<BusMessage>();
      asked.promise.catch(() => {});
      waiting.set(serial, { ...asked, isForDescriptor });
      send(callMessage(serial, to, method, signature, values));
      const ms = Math.max(ANSWER_MS, most);
      return deadline(asked.promise, {
        ms,
        late: () => {
          waiting.delete(serial);
          throw timedOut(`${to} did not answer ${method.member} within ${ms / 1_000} s`);
        },
      });
    },
    take(message) {
      const { type, replyTo = 0, body } = message;
      const isReply = type === MESSAGE_TYPE.reply;
      const asked = isReply || type === MESSAGE_TYPE.error ? waiting.get(replyTo) : undefined;
      if (!asked) return undefined;
      waiting.delete(replyTo);
      if (isReply) {
        asked.resolve(message);
        return asked.isForDescriptor ? descriptorIn(message) : undefined;
      }
      asked.reject(
        unavailable(printable(`${typeof body[0] === "string" ? body[0] : ""} (${message.error})`, 300)),
      );
      return undefined;
    },
    end(why) {
      ended = why;
      for (const { reject } of waiting.values()) reject(unavailable(why));
      waiting.clear();
    },
  };
}

/** Whether a call was refused with this error (D-Bus Specification, "Message Types"): a program's message ends with its name. */
export const isRefusal = (error: unknown, name: string): boolean =>
  error instanceof Failure && error.message.endsWith(`(${name})`);

/** What takes the lines of the bus before the messages (D-Bus Specification, "Authentication Protocol"). @returns whether messages come now. */
function greeter(
  send: (text: string) => void,
  greeting: PromiseWithResolvers<void>,
): (line: string) => boolean {
  return (line) => {
    if (line.startsWith("OK ")) send("NEGOTIATE_UNIX_FD\r\n");
    else if (line.startsWith("AGREE_UNIX_FD")) {
      send("BEGIN\r\n");
      greeting.resolve();
      return true;
    } else greeting.reject(unavailable(`the session bus answers ${JSON.stringify(printable(line, 100))}`));
    return false;
  };
}

/** The one that a message is; undefined where it is anything else. */
const descriptorIn = ({ signature, body: [first] }: BusMessage): number | undefined =>
  signature === "h" && typeof first === "number" && first >= 0 ? first : undefined;

/** Any program on the bus may send descriptors: those that nobody waits for are closed. @param kept the one that somebody does. */
function closeUnused({ descriptors }: BusMessage, kept: number | undefined): void {
  for (const descriptor of descriptors) if (descriptor !== kept) closeSync(descriptor);
}

/**
 * Cuts what arrives into lines, until one of them `began`, and then into messages.
 *
 * @returns a function that throws for what is no message.
 */
function receiver(
  descriptors: number[],
  take: (message: BusMessage) => void,
  began: (line: string) => boolean,
): (bytes: Buffer) => void {
  let kept: Buffer = Buffer.alloc(0);
  let isBegun = false;
  return (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    while (!isBegun) {
      const end = kept.indexOf("\r\n");
      if (end < 0) return;
      const line = kept.toString("utf8", 0, end);
      kept = kept.subarray(end + 2);
      isBegun = began(line);
    }
    while (kept.length >= HEAD_SIZE) {
      const size = messageSize(kept);
      if (kept.length < size) return;
      // They stay among those that wait until the message is read: where it is none, they are closed with the connection.
      const message = readMessage(kept.subarray(0, size), (count) =>
        descriptors.slice(0, Math.max(0, count)),
      );
      descriptors.splice(0, message.descriptors.length);
      kept = kept.subarray(size);
      take(message);
    }
  };
}
