/**
 * The keys and buttons that runs have pressed and not released, so that they can be let go after a run that broke.
 *
 * A display keeps a key down after the program that pressed it has ended: nobody else remembers.
 */
import type { Button } from "./backend";

type Pressed = { readonly key: string } | { readonly button: Button };

export class Held {
  private readonly pressed = new Map<string, Pressed>();

  /** Runs a stroke on `these`: whether it went well or not, what may be down now is remembered. */
  async during<T>(these: readonly Pressed[], leavesDown: boolean, stroke: () => Promise<T>): Promise<T> {
    for (const one of these) this.pressed.set(nameOf(one), one);
    const result = await stroke();
    if (!leavesDown) for (const one of these) this.pressed.delete(nameOf(one));
    return result;
  }

  /** All that may be down, the last pressed first, and forgets it. */
  takeAll(): Pressed[] {
    const all = [...this.pressed.values()].reverse();
    this.pressed.clear();
    return all;
  }
}

const nameOf = (one: Pressed) => ("key" in one ? `key ${one.key}` : `button ${one.button}`);
