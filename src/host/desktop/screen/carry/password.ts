/**
 * The password of a VNC viewer (RFC 6143 section 7.2.2): the viewer encrypts a challenge with it, by DES.
 *
 * It is weak by its design: eight characters count, and what goes over the connection later is neither encrypted nor protected. Guessing is
 * slowed down: after a wrong answer, nobody's is judged for {@link PAUSE_MS}.
 */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { GREETING, SECURITY_NONE } from "../child/server-messages";

/** Bytes of a challenge, and of the answer to it. */
const CHALLENGE = 16;

const SECURITY_VNC = 2;

/** How long no answer is judged after a wrong one, in milliseconds. */
const PAUSE_MS = 1_000;

/** How long a viewer may take until it has given the password, which a person types, in milliseconds. */
const TYPING_MS = 60_000;

/** What a viewer with this password answers to `challenge`. @param password ASCII. */
export function answerTo(challenge: Uint8Array, password: string): Buffer {
  const { createCipheriv } = process.getBuiltinModule("node:crypto");
  const key = Buffer.alloc(8);
  // Each byte in the opposite order of its bits, unlike everybody else (erratum 4951 of RFC 6143).
  for (const [at, byte] of Buffer.from(password, "latin1").subarray(0, 8).entries())
    key[at] = Number.parseInt(byte.toString(2).padStart(8, "0").split("").toReversed().join(""), 2);
  const cipher = createCipheriv("des-ecb", key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(challenge), cipher.final()]);
}

/** Judges answers to challenges. */
export type JudgeAnswer = (challenge: Buffer, answer: Buffer) => Promise<boolean>;

/** @param pauseMs after a wrong answer (default {@link PAUSE_MS}). */
export function createJudge(password: string, pauseMs = PAUSE_MS): JudgeAnswer {
  let before: Promise<unknown> = Promise.resolve();
  return (challenge, answer) => {
    const judged = before.then(() => crypto.timingSafeEqual(answerTo(challenge, password), answer));
    before = judged.then((isRight) => (isRight ? undefined : Bun.sleep(pauseMs)));
    return judged;
  };
}

/** A viewer that has given the password, and waits to hear whether it is let in. */
interface KnownViewer {
  /** Lets it in to `stream`, which says that no password is needed. @throws where that says something else. */
  letIn(stream: Duplex): Promise<void>;
  /** Ends it, with the reason where its version of the protocol has a place for that. */
  refuse(reason: string): void;
}

/** Asks a viewer for the password. @returns undefined where it has not given it; then its connection has ended. */
export async function askPassword(client: Socket, judge: JudgeAnswer): Promise<KnownViewer | undefined> {
  const late = setTimeout(() => client.destroy(), TYPING_MS);
  try {
    client.write(GREETING);
    const version = /^RFB 003\.(\d{3})\n$/.exec((await take(client, 12)).toString("latin1"));
    if (!version) return void client.destroy();
    const minor = Number(version[1]);
    if (minor < 7) client.write(Buffer.of(0, 0, 0, SECURITY_VNC));
    else {
      client.write(Buffer.of(1, SECURITY_VNC));
      if ((await take(client, 1))[0] !== SECURITY_VNC) return void client.destroy();
    }
    const challenge = Buffer.from(crypto.getRandomValues(new Uint8Array(CHALLENGE)));
    client.write(challenge);
    const viewer = knownViewer(client, minor);
    if (await judge(challenge, await take(client, CHALLENGE))) return viewer;
    return void viewer.refuse("wrong password");
  } finally {
    clearTimeout(late);
  }
}

function knownViewer(client: Socket, minor: number): KnownViewer {
  return {
    async letIn(stream) {
      await take(stream, GREETING.length);
      stream.write(GREETING);
      if (!(await take(stream, 2)).equals(Buffer.of(1, SECURITY_NONE)))
        throw new Error("the host asks for something else than svc does");
      stream.write(Buffer.of(SECURITY_NONE));
      // The result, which the viewer waits for.
      client.write(await take(stream, 4));
    },
    refuse(reason) {
      const text = Buffer.from(reason, "utf8");
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      const failed = Buffer.of(0, 0, 0, 1);
      client.end(minor >= 8 ? Buffer.concat([failed, length, text]) : failed);
    },
  };
}

/** The next `count` bytes; `stream` is paused then. @throws where it ends before. */
function take(stream: Duplex, count: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let before = Buffer.alloc(0);
  const stop = () => stream.off("data", more).off("close", gone).off("end", gone).pause();
  const more = (bytes: Buffer) => {
    before = Buffer.concat([before, bytes]);
    if (before.length < count) return;
    stop();
    if (before.length > count) stream.unshift(before.subarray(count));
    resolve(before.subarray(0, count));
  };
  const gone = () => {
    stop();
    reject(new Error("it has left"));
  };
  stream.on("data", more).once("close", gone).once("end", gone).resume();
  if (stream.destroyed) gone();
  return promise;
}
