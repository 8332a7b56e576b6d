/**
 * Attack: a `Host` that is no host. It became part of the address of the request: another path, or a 500 for one that is no URL.
 * And none: HAProxy asks `GET /health HTTP/1.0` without one, and took a healthy host out of service for a 421.
 */
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { serveBinary, TOKEN } from "../support";
import { statusOf } from "./raw";

test("a Host that is no host name with a port is 421", async () => {
  await using server = await serveBinary();
  for (const host of ["127.0.0.1/health?.localhost", "[.localhost", "a b.localhost", "127.0.0.1:99999999"]) {
    expect([host, await statusOf(server, "/commands?x=1", TOKEN, host)]).toEqual([host, 421]);
  }
  // A name that no URL may have, and yet one of this machine.
  expect(await statusOf(server, "/audit/list?limit=1", TOKEN, "xn--.localhost")).not.toBe(500);
});

test("a request of HTTP/1.0 without a Host is answered", async () => {
  await using server = await serveBinary(["--host", "0.0.0.0", "--insecure-http"]);
  const ask = async (path: string, token?: string) => {
    const { hostname, port } = new URL(server.url);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect(Number(port), hostname).on("error", reject);
    let answer = "";
    socket.setEncoding("latin1").on("data", (text) => {
      answer += text;
    });
    socket.on("close", () => resolve(answer));
    socket.write(`GET ${path} HTTP/1.0\r\n${token ? `Authorization: Bearer ${token}\r\n` : ""}\r\n`);
    return Number(/^HTTP\/1\.\d (\d{3}) /.exec(await promise)?.[1]);
  };
  expect(await ask("/health")).toBe(200);
  expect(await ask("/audit/list?limit=1")).toBe(401);
  expect(await ask("/audit/list?limit=1", TOKEN)).toBe(200);
});
