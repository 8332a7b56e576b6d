/**
 * Watching the screen of an X server: DAMAGE says where something changed, MIT-SHM has the server write the pixels into memory
 * that this process has mapped, and XFIXES gives the shape of the pointer.
 *
 * It has a connection of its own: what a call waits for does not wait for pixels, and the other way round.
 */
import { closeSync } from "node:fs";
import { unavailable } from "../../../lib/errors";
import type { Rect } from "../geometry";
import type { Watch, WatchEvents } from "../screen/child/watch";
import { createMemory } from "../shared-memory";
import { connect, extension, type XConnection } from "./connection";
import { captureRegion, isBgrx, rootPlace } from "./screen";

/** ZPixmap; all planes (X11/X.h). */
const Z_PIXMAP = 2;
const ALL_PLANES = 0xffff_ffff;
const STRUCTURE_NOTIFY = 1 << 17;
const WINDOW_NONE = 0;
/** XFixesDisplayCursorNotifyMask; the owner of a selection is another, has gone, or has closed (XFIXES 5.0). */
const CURSOR_CHANGES = 1;
const SELECTION_CHANGES = 7;

export async function watchX11(env: NodeJS.ProcessEnv, events: WatchEvents): Promise<Watch> {
  const over = (reason: string) => events.over(reason);
  const connection = await connect(env, () => over("the X server went away"), true);
  try {
    return await watchOn(connection, events);
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function watchOn(connection: XConnection, events: WatchEvents): Promise<Watch> {
  const { client, screen, need, reply } = connection;
  const [damage, fixes] = [await extension(connection, "damage"), await extension(connection, "fixes")];
  if (!damage || !fixes) {
    throw unavailable(
      "the X server has no DAMAGE or XFIXES extension: it does not say what changes on the screen",
    );
  }
  const { x2: width, y2: height } = await rootPlace(connection);
  const picture = await createPicture(connection, width, height);

  const damaged = client.AllocID();
  damage.Create(damaged, screen.root, damage.ReportLevel.NonEmpty);
  const region = client.AllocID();
  fixes.CreateRegion(region, []);
  fixes.SelectCursorInput(screen.root, CURSOR_CHANGES);
  fixes.SelectSelectionInput(screen.root, await need.InternAtom(false, "CLIPBOARD"), SELECTION_CHANGES);
  client.ChangeWindowAttributes(screen.root, { eventMask: STRUCTURE_NOTIFY });
  await connection.settled();

  const showCursor = async () => {
    const image = await reply(fixes.GetCursorImage.bind(fixes));
    if (!image) return;
    const { width, height, xhot: hotX, yhot: hotY, cursorImage } = image;
    const bytes = new Uint8Array(cursorImage);
    events.cursor({ width, height, hotX, hotY, pixels: new Uint32Array(bytes.buffer) });
  };
  client.on("event", (event) => {
    if (event.name === "DamageNotify") events.damaged();
    if (event.name === "CursorNotify") showCursor().catch(() => {});
    if (event.name === "SelectionNotify") events.clipboard();
    if (event.name === "ConfigureNotify" && event.wid === screen.root) {
      if (event.width !== width || event.height !== height) events.over("the screen has another size");
    }
  });
  showCursor().catch(() => {});

  return {
    width,
    height,
    pixels: picture.pixels,
    scale: 1,
    corner: { x: 0, y: 0 },
    async grab(all) {
      // What changes from here on is reported again.
      damage.Subtract(damaged, WINDOW_NONE, region);
      const found = await reply(fixes.FetchRegion.bind(fixes, region));
      const everything = { x: 0, y: 0, width, height };
      const areas = all
        ? [everything]
        : (found?.rectangles ?? [everything]).map((rect) => inside(rect, everything));
      const changed = areas.filter((area) => area.width > 0 && area.height > 0);
      for (const band of bandsOf(changed)) await picture.read(band.y, band.height);
      return changed;
    },
    async pointer() {
      const { rootX: x, rootY: y } = await need.QueryPointer(screen.root);
      return { x, y };
    },
    close: connection.close,
  };
}

/** Damage beyond the screen is that of windows that reach beyond it. */
function inside(rect: Rect, { width, height }: Rect): Rect {
  const [x, y] = [Math.max(0, rect.x), Math.max(0, rect.y)];
  const [right, bottom] = [Math.min(width, rect.x + rect.width), Math.min(height, rect.y + rect.height)];
  return { x, y, width: right - x, height: bottom - y };
}

/** How many rows between two changes are read along, so that there is one request and not two. */
const GAP = 64;

/** The rows that the areas cover: whole rows lie one after the other in memory. */
function bandsOf(areas: readonly Rect[]): Array<{ y: number; height: number }> {
  const bands: Array<{ y: number; height: number }> = [];
  for (const { y, height } of areas.toSorted((a, b) => a.y - b.y)) {
    const last = bands.at(-1);
    if (last && y <= last.y + last.height + GAP) {
      last.height = Math.max(last.height, y + height - last.y);
    } else bands.push({ y, height });
  }
  return bands;
}

interface ScreenPicture {
  readonly pixels: Int32Array;
  /** Reads whole rows. */
  read(y: number, height: number): Promise<void>;
}

/** In shared memory; where the server or the platform has none, in packets. */
async function createPicture(connection: XConnection, width: number, height: number): Promise<ScreenPicture> {
  const shared = isBgrx(connection) ? await createSharedPicture(connection, width, height) : undefined;
  return shared ?? createPacketPicture(connection, width, height);
}

/** Undefined where it cannot be. */
async function createSharedPicture(
  connection: XConnection,
  width: number,
  height: number,
): Promise<ScreenPicture | undefined> {
  const { client, screen, reply } = connection;
  const shm = await extension(connection, "shm");
  const memory = shm && createMemory(width * height * 4);
  if (!memory) return undefined;
  const segment = client.AllocID();
  try {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    shm.AttachFd(segment, memory.fd, 0, (error) => {
      resolve(!error);
      return true;
    });
    if (!(await promise)) return undefined;
  } finally {
    // The server and the mapping keep the memory.
    closeSync(memory.fd);
  }
  const { bytes } = memory;
  return {
    pixels: new Int32Array(bytes.buffer, bytes.byteOffset, width * height),
    async read(y, rows) {
      const offset = y * width * 4;
      const taken = await reply(
        shm.GetImage.bind(shm, screen.root, 0, y, width, rows, ALL_PLANES, Z_PIXMAP, segment, offset),
      );
      if (!taken) throw unavailable("the X server did not give a picture of the screen");
    },
  };
}

function createPacketPicture(connection: XConnection, width: number, height: number): ScreenPicture {
  const pixels = new Int32Array(width * height);
  const bytes = new Uint8Array(pixels.buffer);
  return {
    pixels,
    async read(y, rows) {
      const picture = await captureRegion(connection, { x1: 0, y1: y, x2: width, y2: y + rows });
      bytes.set(picture.pixels, y * width * 4);
    },
  };
}
