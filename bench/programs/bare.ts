/**
 * A bare server: answers every request with the body and the headers given in `BARE_BODY` and `BARE_HEADERS` (JSON).
 */
const body = process.env.BARE_BODY ?? "";
const headers: Record<string, string> = JSON.parse(process.env.BARE_HEADERS ?? "{}");
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: () => new Response(body, { headers }),
});
console.log(JSON.stringify({ url: server.url.origin }));
