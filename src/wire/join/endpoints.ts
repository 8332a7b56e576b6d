/**
 * Where a desk and a host reach each other about a membership: to join and to leave a desk, and what a desk sends to its hosts.
 */
import * as v from "valibot";
import { field } from "../../core/fields";
import { endpoint } from "../../core/operation";
import { DESK_PINS, JOIN_ANSWER, JOIN_REQUEST, LEAVE_REQUEST, NATS_GRANT } from "./messages";
import { OFFICE } from "./office";

/** On a desk: takes a host in. */
export const acceptEndpoint = endpoint({
  name: "join.accept",
  http: { method: "POST", path: "/join", public: "signed" },
  input: JOIN_REQUEST,
  output: JOIN_ANSWER,
});

/** On a desk: removes a host that leaves. */
export const releaseEndpoint = endpoint({
  name: "join.release",
  http: { method: "POST", path: "/leave", public: "signed" },
  input: LEAVE_REQUEST,
  output: v.object({ removed: v.boolean() }),
});

/** On a host: takes the pins of the desk's TLS key. */
export const deskPinsEndpoint = endpoint({
  name: "desk.pins",
  http: { method: "POST", path: "/desk/pins" },
  input: DESK_PINS,
  /** Whether they are others than before. */
  output: v.object({ changed: v.boolean() }),
});

/** On a host: takes the generation of the desk. */
export const generationEndpoint = endpoint({
  name: "desk.generation",
  http: { method: "POST", path: "/desk/generation" },
  input: v.strictObject({
    ...OFFICE,
    signature: field(
      v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{86}$/, "86 characters of base64url")),
      "Ed25519 signature of the desk's key for jobs over `svc-desk-generation-v1`, the id of the host, line and generation, a line each",
    ),
  }),
  output: v.object({
    /** Whether it is another than before. */
    changed: v.boolean(),
    /** The newest generation of that desk which the host knows, and what was signed of it. */
    generation: OFFICE.generation,
    signature: v.string(),
  }),
});

/** On a host: takes the credentials for the desk's NATS server. */
export const natsGrantEndpoint = endpoint({
  name: "desk.nats",
  http: { method: "POST", path: "/desk/nats" },
  input: NATS_GRANT,
  output: v.object({
    /** Who this host is to NATS servers, and the signature of that NKey, in base64url, that it is this host's. */
    id: v.string(),
    proof: v.string(),
    changed: v.boolean(),
  }),
});
