/**
 * The keys and buttons that were pressed and not released, so that they can be released after a run that broke, and by
 * the child after a parent that died.
 *
 * A display keeps a key down after the program that pressed it has ended, and does not know which keys those are.
 */
import type { Remote } from "../../lib/child";
import { Failure } from "../../lib/errors";
import type { Backend, Button } from "./backend";

type Press = { readonly key: string } | { readonly button: Button };

type Devices = Pick<Backend, "click" | "strike">;

export class PressedKeys {
  /** What may be down. */
  private readonly pressed = new Map<string, Press>();
  private readonly down = new Set<string>();

  /** The same devices, whose strokes are remembered here. */
  track<Extra extends readonly unknown[]>({ click, strike }: Remote<Devices, Extra>): Remote<Devices, Extra> {
    return {
      click: (target, button, stroke, ...extra) =>
        this.during([{ button }], stroke === "press", () => click(target, button, stroke, ...extra)),
      strike: (keys, stroke, ...extra) =>
        this.during(keysOf(keys), stroke === "press", () => strike(keys, stroke, ...extra)),
    };
  }

  /** Runs a stroke on `these`; unless it was never made, what may be down after it is remembered. */
  async during<T>(these: readonly Press[], leavesDown: boolean, stroke: () => Promise<T>): Promise<T> {
    const before = new Map(this.pressed);
    for (const one of these) this.pressed.set(nameOf(one), one);
    try {
      const result = await stroke();
      if (!leavesDown) this.forget(these);
      // What `takeAll` took meanwhile is being released.
      else for (const name of these.map(nameOf)) if (this.pressed.has(name)) this.down.add(name);
      return result;
    } catch (error) {
      if (wasNotMade(error)) this.forget(these.filter((one) => !before.has(nameOf(one))));
      throw error;
    }
  }

  isDown(): boolean {
    return this.down.size > 0;
  }

  /** Releases all that may be down, the last pressed first. A release that fails does not keep the others from it. */
  async releaseAll({ strike, click }: Devices): Promise<void> {
    for (const one of this.takeAll()) {
      const released: Promise<unknown> =
        "key" in one ? strike([one.key], "release") : click({}, one.button, "release");
      await released.catch(() => {});
    }
  }

  /** All that may be down, the last pressed first; it is forgotten. */
  takeAll(): Press[] {
    const all = [...this.pressed.values()].reverse();
    this.forget(all);
    return all;
  }

  private forget(these: readonly Press[]): void {
    for (const one of these) {
      this.pressed.delete(nameOf(one));
      this.down.delete(nameOf(one));
    }
  }
}

const keysOf = (keys: readonly string[]): Press[] => keys.map((key) => ({ key }));

const nameOf = (one: Press) => ("key" in one ? `key ${one.key}` : `button ${one.button}`);

/** Whether a stroke failed before any key or button moved. */
const wasNotMade = (error: unknown) =>
  error instanceof Failure && (error.code === "cancelled" || error.code === "bad_input");
