/**
 * The viewers of the desktop's child process, from its parent's side: each that was prepared is reported as closed once,
 * however the child ends.
 */
import type { ViewerEvents } from "./calls";

/**
 * @param listeners get what the child reports.
 * @param send makes a call; it starts the child when there is none.
 */
export function createViewerParent(
  listeners: ReadonlySet<ViewerEvents>,
  send: (method: string, args: readonly unknown[]) => Promise<unknown>,
) {
  /** Those that were prepared and have not ended. */
  const ids = new Set<string>();
  let screenName: string | undefined;

  const events: ViewerEvents = {
    viewer(id, state, reason) {
      if (state === "closed" && !ids.delete(id)) return;
      for (const listener of listeners) listener.viewer(id, state, reason);
    },
    viewerStats(stats) {
      for (const listener of listeners) listener.viewerStats(stats);
    },
  };

  return {
    events,
    /** Whether the child is needed. */
    some: () => ids.size > 0,
    /** Makes one of the `VIEWER_CALLS`. @param hasChild where there is no child, there is no viewer to call about. */
    async call(method: string, args: readonly unknown[], hasChild: boolean): Promise<unknown> {
      const [first] = args;
      if (method === "nameScreen" && typeof first === "string") screenName = first;
      if (method === "snapshot" || method === "openViewer") {
        if (screenName !== undefined) await send("nameScreen", [screenName]);
        const answer = await send(method, args);
        if (method === "openViewer" && isNamed(first)) ids.add(first.id);
        return answer;
      }
      return hasChild ? send(method, args) : undefined;
    },
    /** The child has gone, and all viewers with it. */
    lost() {
      for (const id of [...ids]) events.viewer(id, "closed", "the desktop helper ended");
    },
  };
}

const isNamed = (value: unknown): value is { readonly id: string } =>
  typeof value === "object" && value !== null && "id" in value && typeof value.id === "string";
