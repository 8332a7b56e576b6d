/** What an agent has of a desktop: nothing of it acts without the gate. */
import { expect, test } from "bun:test";
import type { Desktop } from "../../../src/host/desktop/desktop";
import type { Elements } from "../../../src/host/desktop/elements/elements";
import { DESKTOP_ACTS, ELEMENT_ACTS, handsOn, WITHHELD } from "../../../src/host/leases/hands";
import { cancelled } from "../../../src/lib/errors";

/** What only looks. */
type Looks =
  | "session"
  | (
      | "monitors"
      | "pointer"
      | "keysDown"
      | "clipboard"
      | "screenSize"
      | "screenshot"
      | "page"
      | "windows"
      | "pointed"
      | "readLines"
      | "textReader"
    )
  | (
      | "pointerRests"
      | "snapshots"
      | "imagesFolder"
      | "heldWindows"
      | "viewerListeners"
      | "childPid"
      | "snapshot"
    )
  | ("locate" | "difference" | "pixel" | "changedPixels" | "endWait");

test("each act of a desktop, and of what programs show, is refused once the lease has ended", async () => {
  const acts: string[] = [];
  const noting = (prefix: string) =>
    new Proxy({} as Record<string, unknown>, {
      get: (_, name) => {
        if (name === "elements") return noting("elements.");
        if (name === "of" || name === "turnsOf") return () => noting(prefix);
        return async () => void acts.push(`${prefix}${String(name)}`);
      },
    });
  const over = () => {
    throw cancelled("over");
  };
  const free = async () => undefined;
  const hands = handsOn(noting("") as unknown as Desktop, {
    ...{ limits: { at: free, keys: free, window: free, element: free }, requireLive: over },
    ...{ act: over, turn: over },
  });
  const call = async (of: object, name: string) => Reflect.get(of, name)();
  for (const name of Object.keys(DESKTOP_ACTS)) await expect(call(hands, name)).rejects.toThrow("over");
  const turned = hands.turnsOf({} as never);
  for (const of of [hands.elements, hands.elements.of({} as never), turned.elements])
    for (const name of Object.keys(ELEMENT_ACTS)) await expect(call(of, name)).rejects.toThrow("over");
  await expect(hands.inputLock.take({} as never)).rejects.toThrow("over");
  expect(acts).toEqual([]);
  for (const name of WITHHELD) expect(Reflect.get(hands, name)).toBeUndefined();
});

test("each method of a desktop acts through the gate, only looks, or is withheld", () => {
  // By their types: what a desktop gets besides is in none of these lists, and this does not compile.
  type Own = "inputLock" | "elements" | "turnsOf" | "stop";
  type Acts = "move" | "click" | "scroll" | "strike" | "type" | "liftAll" | "focus" | "place" | "request";
  type Withheld = "openViewer" | "controlViewer" | "closeViewer" | "nameScreen" | "keepPressed";
  type Permission = "permit" | "allow";
  type Filmed =
    | "signature"
    | "record"
    | "stopRecording"
    | "keepBlackBox"
    | "stopBlackBox"
    | "blackBoxState"
    | "videoEncoder";
  type Rest = Exclude<keyof Desktop, Looks | Own | Acts | "setClipboard" | Withheld | Permission | Filmed>;
  type Seen =
    | "survey"
    | "find"
    | "look"
    | "tree"
    | "at"
    | "contents"
    | "read"
    | "isCheckable"
    | "table"
    | "cell"
    | "of"
    | "stop";
  type Done = "press" | "focus" | "setText" | "select" | "expand" | "scrollTo";
  type RestOfElements = Exclude<keyof Elements, Seen | Done>;
  const none: [Rest | RestOfElements] extends [never] ? true : Rest | RestOfElements = true;
  expect(none).toBe(true);
  expect(Object.keys(DESKTOP_ACTS).toSorted()).toEqual(
    [
      "move",
      "click",
      "scroll",
      "strike",
      "type",
      "liftAll",
      "focus",
      "place",
      "request",
      "setClipboard",
    ].toSorted(),
  );
  expect(Object.keys(ELEMENT_ACTS)).toEqual(["press", "focus", "setText", "select", "expand", "scrollTo"]);
});
