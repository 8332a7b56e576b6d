/**
 * Lines of text over a Unix socket, or over a named pipe of Windows.
 *
 * The promise: who sends more than the other side reads waits, and so does a reader for who sends. Bun's own sockets: `node:net` would
 * cost each command 13 ms and the server 7 MB.
 */
import { tooLarge } from "./errors";

/** How much is read ahead of who takes the lines, in bytes. */
const AHEAD = 1_048_576;

const LINE_FEED = 10;

/** A connection that carries lines, in both directions. */
export interface LineConnection {
  /** Resolves when the connection is over, whoever closed it. */
  readonly closed: Promise<void>;
  /**
   * The next line; undefined when there is none any more. One call at a time.
   *
   * @param maxBytes of the line. @throws a `too_large` failure for a longer one, which ends the connection.
   */
  next(maxBytes: number): Promise<string | undefined>;
  /** Resolves when the line is on its way, or the connection is over. */
  send(line: string): Promise<void>;
  /** Ends the connection once all that was sent is on its way. */
  end(): void;
  /** Ends the connection now. */
  cut(): void;
}

/** What Bun calls for a socket. */
interface Events {
  received(data: Uint8Array): void;
  writable(): void;
  over(): void;
}

type LineSocket = Bun.Socket<Events | undefined>;

const HANDLER = {
  data: ({ data }: LineSocket, bytes: Buffer) => data?.received(bytes),
  drain: ({ data }: LineSocket) => data?.writable(),
  // The other side sends no more, so nobody waits for an answer either.
  end: (socket: LineSocket) => void socket.end(),
  close: ({ data }: LineSocket) => data?.over(),
  error: ({ data }: LineSocket) => data?.over(),
};

/**
 * Listens at `path`, where nothing may be.
 *
 * @param taken gets each connection. @throws the system error.
 */
export function listenForLines(path: string, taken: (connection: LineConnection) => void) {
  return Bun.listen<Events | undefined>({
    unix: path,
    socket: { ...HANDLER, open: (socket) => taken(connectionOf(socket)) },
  });
}

/** Connects to who listens at `path`. @throws the system error. */
export async function connectForLines(path: string): Promise<LineConnection> {
  const { promise, resolve } = Promise.withResolvers<LineConnection>();
  const open = (socket: LineSocket) => resolve(connectionOf(socket));
  await Bun.connect<Events | undefined>({ unix: path, data: undefined, socket: { ...HANDLER, open } });
  return promise;
}

function connectionOf(socket: LineSocket): LineConnection {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const reader = createReader(socket);
  const writer = createWriter(socket);
  socket.data = {
    received: reader.received,
    writable: writer.go,
    over() {
      reader.over();
      writer.over();
      close();
    },
  };
  return {
    closed,
    next: reader.next,
    send: writer.send,
    end: writer.end,
    cut: () => void socket.terminate(),
  };
}

/** Lines are looked for as they are taken: a mebibyte may hold a million of them, of which nobody wants more than the first. */
function createReader(socket: LineSocket) {
  let pieces: Uint8Array[] = [];
  /** How many of the pieces have no end of a line in them. */
  let searched = 0;
  /** The bytes of all pieces. */
  let ahead = 0;
  let isOver = false;
  let isPaused = false;
  let isAwaited = false;
  let wake = () => {};
  /** The first line, where it is complete. */
  const take = (): Buffer | undefined => {
    for (; searched < pieces.length; searched++) {
      const piece = pieces[searched];
      const end = piece?.indexOf(LINE_FEED) ?? -1;
      if (!piece || end < 0) continue;
      const line = Buffer.concat([...pieces.slice(0, searched), piece.subarray(0, end)]);
      const rest = piece.subarray(end + 1);
      pieces = [...(rest.length > 0 ? [rest] : []), ...pieces.slice(searched + 1)];
      searched = 0;
      ahead -= line.length + 1;
      return line;
    }
    return undefined;
  };
  return {
    received(data: Uint8Array) {
      ahead += data.length;
      // A copy: the buffer is Bun's.
      pieces.push(new Uint8Array(data));
      isPaused = ahead > AHEAD && !isAwaited;
      if (isPaused) socket.pause();
      wake();
    },
    over() {
      isOver = true;
      wake();
    },
    async next(maxBytes: number): Promise<string | undefined> {
      for (;;) {
        const line = take();
        if ((line?.length ?? ahead) > maxBytes) {
          socket.terminate();
          throw tooLarge(`expected a line of at most ${maxBytes} bytes`);
        }
        if (line !== undefined) return line.toString();
        if (isOver) return undefined;
        if (isPaused) socket.resume();
        isPaused = false;
        isAwaited = true;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        isAwaited = false;
      }
    },
  };
}

function createWriter(socket: LineSocket) {
  const waiting: Array<{ rest: Uint8Array; sent: () => void }> = [];
  let isOver = false;
  let isLast = false;
  const go = () => {
    for (let first = waiting[0]; first && !isOver; first = waiting[0]) {
      const taken = Math.max(0, socket.write(first.rest));
      first.rest = first.rest.subarray(taken);
      if (first.rest.length > 0) return;
      first.sent();
      waiting.shift();
    }
    if (isLast) socket.end();
  };
  return {
    go,
    send: (line: string) =>
      new Promise<void>((sent) => {
        if (isOver || isLast) return sent();
        waiting.push({ rest: Buffer.from(`${line}\n`), sent });
        if (waiting.length === 1) go();
      }),
    end() {
      isLast = true;
      if (waiting.length === 0) socket.end();
    },
    over() {
      isOver = true;
      for (const { sent } of waiting) sent();
    },
  };
}
