/**
 * The viewers of the desktop's child process, from its parent's side: each that was prepared is reported as closed once,
 * however the child ends, and what those held that controlled is released by the next child, where one breaks.
 */
import { rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname } from "node:path";
import { STARTING_CALLS, type ViewerEvents } from "./calls";

/** The viewers of a child process. */
interface ViewerParent {
  /** What the child reports of them. */
  readonly events: ViewerEvents;
  /** Releases what viewers held whose child broke. @throws what the call throws. */
  lift(): Promise<void>;
  /** The child ended and had not been asked to: nobody has released what its viewers held. */
  broke(): void;
  /** Whether the child is needed. */
  some(): boolean;
  /** Makes one of the `VIEWER_CALLS`. @param hasChild where there is no child, there is no viewer to call about. */
  call(method: string, args: readonly unknown[], hasChild: boolean): Promise<unknown>;
  /** The child has gone, or is about to, and all viewers with it. */
  lost(reason: string): void;
  /** No child encodes videos any more. */
  forbidVideos(): void;
}

/**
 * @param listeners get what the child reports.
 * @param send makes a call; it starts the child when there is none.
 */
export function createViewerParent(
  listeners: ReadonlySet<ViewerEvents>,
  send: (method: string, args: readonly unknown[]) => Promise<unknown>,
): ViewerParent {
  /** Those that were prepared and have not ended. */
  const ids = new Set<string>();
  /** Those of them whose keys and buttons count: the child alone knows which are down. */
  const controlling = new Set<string>();
  /** Whether a child broke while there were such. */
  let mayBeDown = false;
  let screenName: string | undefined;
  let mayVideo = true;
  /** The socket of the child: one that is killed leaves it behind. */
  let door: string | undefined;

  const events: ViewerEvents = {
    viewer(id, state, reason) {
      if (state === "closed") {
        controlling.delete(id);
        if (!ids.delete(id)) return;
      }
      for (const listener of listeners) listener.viewer(id, state, reason);
    },
    viewerStats(stats) {
      for (const listener of listeners) listener.viewerStats(stats);
    },
  };

  const lift = async () => {
    if (!mayBeDown) return;
    await send("liftAll", []);
    mayBeDown = false;
  };
  /** Whose keys count from now on, or no longer. */
  const control = async (id: string, on: unknown, hasChild: boolean) => {
    if (!hasChild) return;
    if (on) {
      await lift();
      controlling.add(id);
    }
    const answer = await send("controlViewer", [id, on]);
    if (!on) controlling.delete(id);
    return answer;
  };

  return {
    events,
    lift,
    broke() {
      mayBeDown ||= controlling.size > 0;
      controlling.clear();
    },
    some: () => ids.size > 0,
    async call(method, args, hasChild) {
      const [first] = args;
      if (method === "nameScreen" && typeof first === "string") screenName = first;
      if (method === "controlViewer" && typeof first === "string") return control(first, args[1], hasChild);
      if (STARTING_CALLS.has(method)) {
        // Sent at once, so that a call that comes after it does not reach the child before it.
        const named = screenName === undefined ? undefined : send("nameScreen", [screenName]);
        const isViewer = method === "openViewer" && isNamed(first);
        const given = isViewer && !mayVideo ? [{ ...first, video: false }] : args;
        const [answer] = await Promise.all([send(method, given), named]);
        if (isViewer) {
          ids.add(first.id);
          if ("control" in first && first.control) controlling.add(first.id);
        }
        if (isDoor(answer)) door = answer.path;
        return answer;
      }
      return hasChild ? send(method, args) : undefined;
    },
    lost(reason) {
      for (const id of [...ids]) events.viewer(id, "closed", reason);
      if (door !== undefined) removeDoor(door);
      door = undefined;
    },
    forbidVideos() {
      mayVideo = false;
    },
  };
}

/** Removes a socket of the form that `openDoor` makes, and its folder: a child that was taken over might name any file. */
function removeDoor(path: string): void {
  const folder = dirname(path);
  if (!/^svc-screen-\w+$/.test(basename(folder)) || basename(path) !== "rfb" || dirname(folder) !== tmpdir())
    return;
  try {
    rmSync(path, { force: true });
    rmdirSync(folder);
  } catch {
    // The child has removed it, as it does when it ends by itself.
  }
}

const isDoor = (value: unknown): value is { readonly path: string } =>
  typeof value === "object" && value !== null && "path" in value && typeof value.path === "string";

const isNamed = (value: unknown): value is { readonly id: string } =>
  typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";
