/**
 * A host with a screen, as the page of the live screen sees it: a small server of RFB (RFC 6143) for the WebSocket of a page in
 * Chromium, and answers of the API about viewers. It shows one colour, and keeps what a viewer sends.
 */
interface Stream {
  /** Reads what the viewer sends. */
  read(bytes: Buffer): void;
}
type Socket = Bun.ServerWebSocket<{ stream?: Stream }>;

export const SIZE = { width: 320, height: 200 };

/** What a viewer has sent after the handshake: `+a`, `-a` for keys, by their keysym in hex where that is no ASCII. */
export type Sent = string[];

const keyName = (keysym: number) =>
  keysym > 0x20 && keysym < 0x7f ? String.fromCharCode(keysym) : `0x${keysym.toString(16)}`;

/** One connection: reads what the viewer sends as far as it is whole. */
function serveRfb(socket: Socket, sent: Sent, texts: string[]) {
  let rest = Buffer.alloc(0);
  let step = 0;
  const send = (...bytes: number[]) => socket.send(Buffer.from(bytes));
  const paint = () => {
    const header = Buffer.alloc(16);
    header.writeUInt16BE(1, 2);
    header.writeUInt16BE(SIZE.width, 8);
    header.writeUInt16BE(SIZE.height, 10);
    const pixels = Buffer.alloc(SIZE.width * SIZE.height * 4, Buffer.from([0x30, 0x90, 0xd0, 0]));
    socket.send(Buffer.concat([header, pixels]));
  };
  const init = () => {
    const name = Buffer.from("stand-in");
    const message = Buffer.alloc(24 + name.length);
    message.writeUInt16BE(SIZE.width, 0);
    message.writeUInt16BE(SIZE.height, 2);
    message.set([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0], 4);
    message.writeUInt32BE(name.length, 20);
    message.set(name, 24);
    socket.send(message);
  };
  /** The length of the first message of `rest`, once it is whole; 0 before. */
  const take = (): number => {
    const whole = (length: number) => (rest.length >= length ? length : 0);
    const opening = [12, 1, 1][step];
    if (opening !== undefined) {
      if (rest.length < opening) return 0;
      if (step === 0) send(1, 1);
      else if (step === 1) send(0, 0, 0, 0);
      else init();
      step += 1;
      return opening;
    }
    switch (rest[0]) {
      case undefined:
        return 0;
      case 0:
        return whole(20);
      case 2:
        return whole(4) && whole(4 + rest.readUInt16BE(2) * 4);
      case 3:
        if (whole(10) && rest[1] === 0) paint();
        return whole(10);
      case 4:
        if (whole(8)) sent.push(`${rest[1] ? "+" : "-"}${keyName(rest.readUInt32BE(4))}`);
        return whole(8);
      case 5:
        if (whole(6)) sent.push(`pointer ${rest[1]}`);
        return whole(6);
      case 6: {
        const length = whole(8) && whole(8 + Math.abs(rest.readInt32BE(4)));
        if (length) texts.push(rest.toString("latin1", 8, length));
        return length;
      }
      default:
        throw new Error(`expected a message of RFB but found type ${rest[0]}`);
    }
  };
  return {
    read(bytes: Buffer) {
      rest = Buffer.concat([rest, bytes]);
      for (let length = take(); length > 0; length = take()) rest = rest.subarray(length);
    },
    greet: () => socket.send(Buffer.from("RFB 003.008\n")),
    /** What was copied on the host. */
    copy(text: string) {
      const message = Buffer.alloc(8 + text.length);
      message[0] = 3;
      message.writeUInt32BE(text.length, 4);
      message.write(text, 8, "latin1");
      socket.send(message);
    },
    close: (code: number, reason: string) => socket.close(code, reason),
    cut: () => socket.terminate(),
  };
}

/** A viewer in the answers; the rest as it mostly is. */
export const viewer = (id: string, more: object = {}) => ({
  ...{ id, name: `viewer ${id}`, token: null, client: "127.0.0.1", carrier: "websocket", route: null },
  ...{ since: new Date().toISOString(), state: "open", control: false, wants_control: false },
  ...{ approval_id: null as string | null, stats: null, ...more },
});

/** A PNG of one pixel, in base64. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The stand-in in front of the server at `url`; it ends with the scope. */
export function standIn(url: string) {
  const host = {
    /** Those that watch, as `GET /screen/state` answers. */
    viewers: [] as Array<ReturnType<typeof viewer>>,
    black_box: null as null | "on" | "paused",
    /** The times of the pictures of the black box that were asked for. */
    looked: [] as string[],
    input: null as null | { kind: string; id: string | null; who: string; since: string | null },
    sent: [] as Sent,
    texts: [] as string[],
    connections: [] as Array<ReturnType<typeof serveRfb>>,
    /** The subprotocols of each connection. */
    offered: [] as string[],
    /** Bodies of `POST /screen/control`. */
    controls: [] as Array<{ viewer: string; action: string; run?: string }>,
    /** The ids of those that were ended. */
    closed: [] as string[],
    /** The leases that a person has stopped. */
    stopped: [] as string[],
    /** What is at each place, as `GET /element_at` answers. */
    element: null as null | { locator: string; unique: boolean; element: { bounds: number[] } },
    /** Whether it speaks first, as a host does that has let the viewer in. */
    greets: true,
    /** What becomes of a request for control; it is granted at once unless a test says otherwise. */
    takes: async (): Promise<void> => {},
  };
  let tickets = 0;
  const answers: Record<string, (body: never) => unknown> = {
    "/screen/ticket"() {
      tickets += 1;
      const viewer_id = `v${tickets}`;
      host.viewers.push(viewer(viewer_id));
      return { ticket: `secret-${tickets}`, url: "", expires_at: new Date().toISOString(), viewer_id };
    },
    "/screen/state": () => ({ ...SIZE, viewers: host.viewers, input: host.input, black_box: host.black_box }),
    "/black-box/spans": () => ({ spans: [{ from: "2026-06-01T10:00:00Z", to: "2026-06-01T10:00:06Z" }] }),
    "/screen/at"(search: string) {
      host.looked.push(new URLSearchParams(search).get("time") ?? "");
      const since = "2026-06-01T10:00:00Z";
      return { format: "png", width: 1, height: 1, since, encoding: "base64", data: PIXEL };
    },
    "/black-box/pause"() {
      host.black_box = "paused";
      return { state: "paused" };
    },
    "/black-box/resume"() {
      host.black_box = "on";
      return { state: "on" };
    },
    "/element_at": () => host.element,
    "/leases/end"({ id }: { readonly id: string }) {
      host.stopped.push(id);
      host.input = null;
      return { id, state: "ended" };
    },
    "/sessions/close"({ id }: { readonly id: string }) {
      host.closed.push(id);
      host.viewers = host.viewers.filter((one) => one.id !== id);
      return { closed: true };
    },
    async "/screen/control"(body: (typeof host.controls)[number]) {
      host.controls.push(body);
      const control = body.action === "take";
      if (control) await host.takes();
      const changed = { control, wants_control: false };
      host.viewers = host.viewers.map((one) => (one.id === body.viewer ? { ...one, ...changed } : one));
      return { control };
    },
  };
  const server = Bun.serve<{ stream?: Stream }>({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request, own) {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/screen/rfb") {
        host.offered.push(request.headers.get("sec-websocket-protocol") ?? "");
        const headers = { "sec-websocket-protocol": "svc.rfb" };
        return own.upgrade(request, { data: {}, headers }) ? undefined : new Response(null, { status: 400 });
      }
      const answer = answers[pathname];
      if (answer) {
        const body = request.method === "POST" ? await request.json() : search;
        return Response.json(await answer(body as never));
      }
      const { method, headers, body, signal } = request;
      const sent = { method, headers, body, signal, redirect: "manual", decompress: false } as const;
      return fetch(url + pathname + search, sent);
    },
    websocket: {
      open(socket) {
        const connection = serveRfb(socket, host.sent, host.texts);
        socket.data.stream = connection;
        host.connections.push(connection);
        if (host.greets) connection.greet();
      },
      message: (socket, message) => socket.data.stream?.read(Buffer.from(message as Buffer)),
    },
  });
  return Object.assign(host, {
    url: server.url.origin,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  });
}
