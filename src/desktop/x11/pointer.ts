/**
 * The pointer of an X server, moved and clicked through the XTEST extension.
 */
import type { PointerReply, Reply } from "x11";
import type { Button, Direction, Stroke, Target } from "../backend";
import { assertOn, type Point } from "../geometry";
import type { XConnection } from "./connection";
import { rootPlace } from "./screen";

/** Button numbers (X11/X.h); a wheel's steps are clicks of buttons 4 to 7, opposite directions one apart. */
const BUTTONS: Record<Button, number> = { left: 1, middle: 2, right: 3 };
const WHEEL: Record<Direction, number> = { up: 4, down: 5, left: 6, right: 7 };

export async function pointerAt({ client, screen, need }: XConnection): Promise<Point> {
  const { rootX, rootY } = await need((reply: Reply<PointerReply>) =>
    client.QueryPointer(screen.root, reply),
  );
  return { x: rootX, y: rootY };
}

/** @throws a `bad_input` failure for a place that is not on the screen. */
export async function movePointer(connection: XConnection, target: Target): Promise<Point> {
  await sendPointer(connection, target);
  await connection.settled();
  return pointerAt(connection);
}

export async function clickButton(
  connection: XConnection,
  target: Target,
  button: Button,
  stroke: Stroke,
): Promise<Point> {
  await sendPointer(connection, target);
  if (stroke !== "release") fakeButton(connection, BUTTONS[button], "press");
  if (stroke !== "press") fakeButton(connection, BUTTONS[button], "release");
  await connection.settled();
  return pointerAt(connection);
}

export async function turnWheel(
  connection: XConnection,
  target: Target,
  direction: Direction,
  steps: number,
): Promise<Point> {
  await sendPointer(connection, target);
  const button = steps < 0 ? WHEEL[direction] ^ 1 : WHEEL[direction];
  for (let step = 0; step < Math.abs(steps); step++) {
    fakeButton(connection, button, "press");
    fakeButton(connection, button, "release");
  }
  await connection.settled();
  return pointerAt(connection);
}

async function sendPointer(connection: XConnection, target: Target): Promise<void> {
  if (target.x === undefined && target.y === undefined) return;
  const now = await pointerAt(connection);
  const { x = now.x, y = now.y } = target;
  assertOn(await rootPlace(connection), { x, y });
  const { test, screen } = connection;
  test.FakeInput(test.MotionNotify, 0, 0, screen.root, x, y);
}

function fakeButton({ test, screen }: XConnection, button: number, stroke: "press" | "release"): void {
  const type = stroke === "press" ? test.ButtonPress : test.ButtonRelease;
  test.FakeInput(type, button, 0, screen.root, 0, 0);
}
