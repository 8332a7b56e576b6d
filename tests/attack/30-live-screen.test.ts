/** The attack: with a token that may look at the screen, move the pointer, use a ticket twice, and stay after it was revoked. */
import { expect } from "bun:test";
import { startDisplay } from "../host/desktop/support";
import { BINARY, post, type ServerProcess, serveBinary, testWith, until } from "../support";
import { addToken } from "./raw";

interface Made {
  readonly ticket: string;
  readonly url: string;
  readonly viewer_id: string;
}

const as = (token: string, body: unknown): RequestInit => {
  const init = post(body);
  return { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } };
};

const ticketOf = async (host: ServerProcess, token: string) =>
  (await (await host.call("/screen/ticket", as(token, {}))).json()) as Made;

/** Opens the stream, and gets as far as RFC 6143 section 7.3.2: what the server sends is not looked at. */
async function look({ url, ticket }: Made) {
  const socket = new WebSocket(url, ["svc.rfb", `ticket.${ticket}`]);
  socket.binaryType = "arraybuffer";
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });
  const answers = [Buffer.from("RFB 003.008\n"), Buffer.from([1]), Buffer.from([1])];
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  socket.onmessage = () => {
    const answer = answers.shift();
    if (answer) socket.send(answer);
    else resolve();
  };
  await Promise.race([begun, closed]);
  return { socket, closed };
}

/** PointerEvent (RFC 6143 section 7.5.5) without buttons. */
const moveTo = (x: number, y: number) => Buffer.from([5, 0, x >> 8, x & 255, y >> 8, y & 255]);

const pointer = async (host: ServerProcess) => {
  const ran = await host.call("/execute", post({ actions: [["AC_get_mouse_position"]] }));
  const { outcomes } = (await ran.json()) as { outcomes: Array<{ result: unknown }> };
  return outcomes[0]?.result;
};

testWith("Xvfb")(
  "who may only look moves nothing, and has one stream for a ticket until the token ends",
  async () => {
    await using display = await startDisplay({ managed: false });
    await using host = await serveBinary(["--rate-limit", "0"], { env: display.env });
    const eve = await addToken(host, "eve", { scope: "screen" });
    const ann = await addToken(host, "ann", { scope: "desk" });
    const before = await pointer(host);
    const ticket = await ticketOf(host, eve);
    const viewer = await look(ticket);
    expect(
      (await host.call("/screen/control", as(eve, { viewer: ticket.viewer_id, action: "take" }))).status,
    ).toBe(403);
    expect((await host.call("/screen/ticket", as(eve, { control: true }))).status).toBe(403);
    viewer.socket.send(moveTo(7, 9));
    expect(await (await look(ticket)).closed).toBe(1_006);
    // What comes after it from one that controls is there, and it is not.
    const other = await ticketOf(host, ann);
    const controls = await look(other);
    expect(await pointer(host)).toEqual(before);
    const taken = await host.call("/screen/control", as(ann, { viewer: other.viewer_id, action: "take" }));
    expect(await taken.json()).toEqual({ control: true });
    viewer.socket.send(moveTo(7, 9));
    controls.socket.send(moveTo(21, 34));
    await until("the pointer", async () => Bun.deepEquals(await pointer(host), [21, 34]));
    controls.socket.close();
    const removed = Bun.spawn([BINARY, "token", "remove", "eve", "--config-dir", host.configDir], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await removed.exited).toBe(0);
    expect(await viewer.closed).toBe(4_006);
  },
);
