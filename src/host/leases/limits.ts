/**
 * Which windows and programs a lease reaches.
 *
 * The promise: where a lease names some, nothing is done whose window is not known to be one of them.
 */
import type { DesktopWindow, Target } from "../desktop/backend";
import type { Element } from "../desktop/elements/calls";
import type { Point } from "../desktop/geometry";

/** What the check looks at. */
export interface SeenDesktop {
  windows(): Promise<readonly DesktopWindow[] | undefined>;
  pointer(): Promise<Point>;
  readonly elements: { look(id: string): Promise<Element> };
}

/** Each returns what is not allowed, as words after "the agent "; undefined where it is allowed. */
export interface Limits {
  at(target: Target): Promise<string | undefined>;
  /** Of what has the focus. */
  keys(): Promise<string | undefined>;
  window(hwnd: number): Promise<string | undefined>;
  element(id: string): Promise<string | undefined>;
}

const folded = (text: string | null | undefined) => (text ?? "").toLowerCase();

/** @param limits empty lists allow all. */
export function createLimits(
  { windows, programs }: { readonly windows: readonly string[]; readonly programs: readonly string[] },
  desktop: SeenDesktop,
): Limits {
  const isFree = windows.length === 0 && programs.length === 0;
  const allows = (title: string, program: string | null) =>
    (windows.length === 0 || windows.some((one) => folded(title).includes(folded(one)))) &&
    (programs.length === 0 || programs.some((one) => folded(program) === folded(one)));
  const isAllowed = ({ title, process }: DesktopWindow) => allows(title, process);
  const all = async () => (await desktop.windows()) ?? [];
  const named = (window: DesktopWindow | undefined) =>
    window ? `the window ${JSON.stringify(window.title.slice(0, 80))}` : "what is no window";
  const free = async () => undefined;
  if (isFree) return { at: free, keys: free, window: free, element: free };
  return {
    async at(target) {
      const { x, y } = { ...(await desktop.pointer()), ...definedOf(target) };
      const under = (await all()).filter((one) => one.state !== "minimized" && contains(one, x, y));
      // Which of several is on top is not known, but for the one that has the focus.
      const top = under.find(({ focused }) => focused);
      if (top ? isAllowed(top) : under.length > 0 && under.every(isAllowed)) return undefined;
      return `pointed at ${named(top ?? under.find((one) => !isAllowed(one)))}, which its lease does not name`;
    },
    async keys() {
      const focused = (await all()).filter((one) => one.focused);
      if (focused.length > 0 && focused.every(isAllowed)) return undefined;
      return `pressed keys in ${named(focused[0])}, which its lease does not name`;
    },
    async window(hwnd) {
      const found = (await all()).find((one) => one.hwnd === hwnd);
      if (found && isAllowed(found)) return undefined;
      return `used ${named(found)}, which its lease does not name`;
    },
    async element(id) {
      const { window_title, app_name, process_id } = await desktop.elements.look(id);
      const own = (await all()).filter(({ pid }) => pid !== null && pid === process_id);
      const programsOf = [app_name, ...own.map(({ process }) => process)];
      if (window_title !== "" && programsOf.some((program) => allows(window_title, program)))
        return undefined;
      // A menu has no title: it is of its program, all of whose windows are named.
      if (window_title === "" && own.length > 0 && own.every(isAllowed)) return undefined;
      return `used an element of ${JSON.stringify((window_title || app_name).slice(0, 80))}, which its lease does not name`;
    },
  };
}

/** False where the system does not say where the window is. */
const contains = ({ x, y, width, height }: DesktopWindow, column: number, row: number) =>
  x !== null &&
  y !== null &&
  width !== null &&
  height !== null &&
  column >= x &&
  row >= y &&
  column < x + width &&
  row < y + height;

const definedOf = ({ x, y }: Target) => ({ ...(x !== undefined && { x }), ...(y !== undefined && { y }) });
