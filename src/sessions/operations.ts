import * as v from "valibot";
import { NO_INPUT, operation } from "../operation";

/** Sessions that share this host's screen (`host`) and that watch another's (`viewer`). */
const SESSIONS = v.object({
  host: v.object({
    running: v.boolean(),
    port: v.number(),
    connected_clients: v.number(),
    host_id: v.nullable(v.string()),
  }),
  viewer: v.object({ connected: v.boolean(), host_id: v.nullable(v.string()) }),
});

export const getSessions = operation({
  name: "sessions.get",
  summary: "Tell which remote-desktop sessions there are",
  scope: "read",
  http: { method: "GET", path: "/sessions" },
  input: NO_INPUT,
  output: SESSIONS,
  run: () => ({
    host: { running: false, port: 0, connected_clients: 0, host_id: null },
    viewer: { connected: false, host_id: null },
  }),
});

export const operations = [getSessions];
