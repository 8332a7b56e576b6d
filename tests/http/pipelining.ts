/** The tests of requests that arrive in one packet, for the source tree and for the compiled binary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { type ServerProcess, until } from "../support";

/** The tests of pipelining, on the server that `start` gives. */
export function testPipelining(start: () => Promise<ServerProcess>): void {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.token}\r\n\r\n`;
  const post = (path: string, body: string) =>
    [
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.token}\r\n`,
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ].join("");
  const add = (label: string) =>
    post(
      "/admin/hosts/add",
      JSON.stringify({ label, base_url: "http://127.0.0.1:9", token: "t".repeat(32) }),
    );

  /** The statuses of the answers to what is sent in one packet, until the connection ends or has as many as `expected`. */
  const send = async (packet: string, expected: number): Promise<string[]> => {
    const { hostname, port } = new URL(server.url);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const socket = connect(Number(port), hostname);
    let answer = "";
    const statuses = () => Array.from(answer.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status = ""]) => status);
    socket.setEncoding("latin1").on("data", (text) => {
      answer += text;
      if (statuses().length === expected) resolve();
    });
    socket.on("close", () => resolve()).on("error", () => resolve());
    socket.write(packet);
    await ended;
    socket.destroy();
    return statuses();
  };
  const hosts = async () => {
    const answer = (await (await server.call("/admin/hosts")).json()) as Array<{ label: string }>;
    return answer.map(({ label }) => label);
  };

  test("two requests that are answered at once get two answers", async () => {
    expect(await send(get("/health") + get("/health"), 2)).toEqual(["200", "200"]);
  });

  test("a change behind another request is made and answered", async () => {
    expect(await send(get("/health") + add("behind"), 2)).toEqual(["200", "200"]);
    expect(await hosts()).toContain("behind");
  });

  test.each([
    ["get", () => get("/health")],
    ["post", () => add("second")],
    ["get-token", () => get("/overview")],
  ])("a change before another request (%s) is answered, or not made", async (name, next) => {
    const statuses = await send(add(`before-${name}`) + next(), 2);
    const made = await hosts();
    expect(made.includes(`before-${name}`)).toBe(statuses.length > 0);
    expect(made.includes("second")).toBe(statuses.length > 1 && name === "post");
  });

  // On Windows, a socket is no file descriptor.
  test.skipIf(process.platform === "win32")(
    "a request that arrives while a change is made is answered after it",
    async () => {
      const { hostname, port } = new URL(server.url);
      const socket = connect(Number(port), hostname);
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      let answer = "";
      socket.setEncoding("latin1").on("data", (text) => {
        answer += text;
        if (answer.includes('{"status":"ok"}')) resolve();
      });
      socket.on("close", () => resolve()).on("error", () => resolve());
      socket.write(post("/execute", JSON.stringify({ actions: [["AC_sleep", { seconds: 1 }]] })));
      await until("the row of the change", async () =>
        /POST \/execute -> started/.test(await (await server.call("/audit/list?limit=5")).text()),
      );
      socket.write(get("/health"));
      await ended;
      socket.destroy();
      expect(Array.from(answer.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => status)).toEqual([
        "200",
        "200",
      ]);
      expect(answer).toContain("AC_sleep");
    },
  );

  test("a change without a body before another request is answered, or not made", async () => {
    expect(await send(post("/inspector/samples", '{"samples":[{"rtt_ms":1}]}'), 1)).toEqual(["200"]);
    const reset = `POST /inspector/reset HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.token}\r\n\r\n`;
    const statuses = await send(reset + get("/health"), 2);
    const { count } = (await (await server.call("/inspector/recent")).json()) as { count: number };
    expect(count === 0).toBe(statuses.length > 0);
  });
}
