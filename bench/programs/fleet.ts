/**
 * Two thousand hosts in one process: every address of 127/8 answers as a svc host does, but for those whose last number is
 * divisible by ten, which never answer. Says `{"url"}` once it listens.
 */
const SESSIONS = {
  host: { running: false, port: 0, connected_clients: 0, host_id: null },
  viewer: { connected: false, host_id: null },
};

const server = Bun.serve({
  // Only so does one socket answer for all of 127/8; nobody else is answered.
  hostname: "0.0.0.0",
  port: 0,
  idleTimeout: 60,
  fetch(request, server) {
    if (!server.requestIP(request)?.address.startsWith("127.")) return new Response(null, { status: 403 });
    const { hostname, pathname } = new URL(request.url);
    if (Number(hostname.split(".")[3]) % 10 === 0) return new Promise<Response>(() => {});
    return Response.json(pathname === "/jobs" ? { jobs: [] } : SESSIONS);
  },
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }));
