/**
 * What sway answers on its own socket (sway-ipc(7)): the places of windows, and commands for them, which no Wayland protocol has.
 */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { deadline } from "../../../lib/deadline";
import { timedOut, unavailable } from "../../../lib/errors";
import { jsonIn } from "../../../lib/json-in";
import { orElse } from "../../../lib/or-else";

const MAGIC = "i3-ipc";
/** The magic, the length of the content, and the type. */
const HEAD_SIZE = MAGIC.length + 8;
const [RUN_COMMAND, GET_TREE] = [0, 4];
const ANSWER_MS = 4_000;
/** The largest answer, in bytes: a window takes about two thousand. */
const MAX_BYTES = 16 * 1_048_576;

const RECT = v.object({ x: v.number(), y: v.number(), width: v.number(), height: v.number() });

/** A node of sway's tree, as far as it is used. */
const NODE = v.object({
  id: v.number(),
  type: v.string(),
  name: v.nullish(v.string(), ""),
  rect: RECT,
  deco_rect: RECT,
  focused: v.boolean(),
  fullscreen_mode: v.optional(v.number(), 0),
  num: v.optional(v.number()),
  pid: v.optional(v.number()),
  app_id: v.nullish(v.string()),
  window: v.nullish(v.number()),
  window_properties: v.optional(v.object({ class: v.optional(v.string()) })),
  nodes: v.array(v.unknown()),
  floating_nodes: v.array(v.unknown()),
});

export type SwayNode = v.InferOutput<typeof NODE>;

/** A window in sway's tree. */
export interface SwayWindow {
  readonly node: SwayNode;
  /** The workspace that it is on; undefined when it is in none that is shown. */
  readonly workspace: SwayNode | undefined;
}

/** Sway's own socket. */
export interface Sway {
  windows(): Promise<readonly SwayWindow[]>;
  /** @throws `unavailable` with what sway says when it does not do it. */
  command(command: string): Promise<void>;
}

/** Sway's socket, where process `pid` is sway; undefined for another compositor. */
export function openSway(pid: number, env: NodeJS.ProcessEnv): Sway | undefined {
  const folders = new Set([env.SWAYSOCK && dirname(env.SWAYSOCK), env.XDG_RUNTIME_DIR]);
  const path = [...folders].flatMap((folder) => (folder ? socketIn(folder, pid) : []))[0];
  if (path === undefined) return undefined;
  return {
    async windows() {
      return windowsIn(v.parse(NODE, await ask(path, GET_TREE, "")), undefined);
    },
    async command(command) {
      const answers = v.parse(
        v.array(v.object({ success: v.boolean(), error: v.optional(v.string()) })),
        await ask(path, RUN_COMMAND, command),
      );
      const refused = answers.find(({ success }) => !success);
      if (refused) throw unavailable(`sway did not do it: ${refused.error ?? "it does not say why"}`);
    },
  };
}

/** `sway-ipc.UID.PID.sock`: the one of another sway would name other windows. */
function socketIn(folder: string, pid: number): string[] {
  const found = orElse(() => readdirSync(folder), []).filter(
    (name) => /^sway-ipc\.\d+\.(\d+)\.sock$/.exec(name)?.[1] === `${pid}`,
  );
  return found.map((name) => join(folder, name));
}

function windowsIn(node: SwayNode, workspace: SwayNode | undefined): SwayWindow[] {
  const on = node.type === "workspace" ? node : workspace;
  if (node.pid !== undefined) return [{ node, workspace: on }];
  return [...node.nodes, ...node.floating_nodes].flatMap((child) => windowsIn(v.parse(NODE, child), on));
}

/** The answer to one message. @throws `unavailable`, `timeout`. */
async function ask(path: string, type: number, content: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const pieces: Buffer[] = [];
  let size = 0;
  /** How long the answer is; undefined before its head is there. */
  let end: number | undefined;
  const fail = (why: string) => reject(unavailable(`sway ${why}`));
  const gone = () => reject(unavailable("sway closed its socket"));
  const socket = await Bun.connect({
    unix: path,
    socket: {
      data(socket, data) {
        pieces.push(data);
        size += data.length;
        if (size < HEAD_SIZE) return;
        end ??= HEAD_SIZE + Buffer.concat(pieces).readUInt32LE(MAGIC.length);
        if (end > MAX_BYTES || size > MAX_BYTES) {
          fail(`answered with more than ${MAX_BYTES} bytes`);
          socket.end();
        } else if (size >= end) {
          const value = jsonIn(Buffer.concat(pieces).toString("utf8", HEAD_SIZE, end));
          if (value === undefined) fail("answered with what is no JSON");
          else resolve(value);
        }
      },
      close: gone,
      error: gone,
    },
  });
  try {
    const body = Buffer.from(content);
    const head = Buffer.alloc(HEAD_SIZE);
    head.write(MAGIC);
    head.writeUInt32LE(body.length, MAGIC.length);
    head.writeUInt32LE(type, MAGIC.length + 4);
    socket.write(Buffer.concat([head, body]));
    return await deadline(promise, {
      ms: ANSWER_MS,
      late: () => timedOut(`sway did not answer within ${ANSWER_MS / 1_000} s`),
    });
  } finally {
    promise.catch(() => {});
    socket.end();
  }
}
