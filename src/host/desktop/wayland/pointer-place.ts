/**
 * Where the pointer of a Wayland compositor is. No protocol tells it; but a surface that is put over each monitor for a moment, and
 * shows nothing, is told where the pointer enters it (wlr-layer-shell).
 */
import { closeSync } from "node:fs";
import { sleep } from "../../../lib/deadline";
import type { Point } from "../geometry";
import { sizeOf } from "../geometry";
import { createMemory } from "../shared-memory";
import type { WaylandConnection } from "./connection";
import type { Output, Outputs } from "./outputs";
import { unknownPlace } from "./pointer";
import { outputsOn } from "./screen";
import type { Seat } from "./seat";

/** How long the compositor has to say that the pointer is on the surface, in milliseconds: some frames. */
const ENTER_MS = 500;
/** `zwlr_layer_shell_v1.layer.overlay`, all four of `zwlr_layer_surface_v1.anchor`, and over what panels keep for themselves. */
const OVERLAY = 3;
const ALL_SIDES = 15;
const OVER_PANELS = -1;
/** `wl_shm.format.argb8888`: nothing but zeros is transparent. */
const ARGB = 0;

/** @throws `unavailable` where it cannot be found out. */
export async function findPointer(
  connection: WaylandConnection,
  outputs: Outputs,
  seat: Seat,
): Promise<Point> {
  const compositor = connection.bind("wl_compositor");
  const shell = connection.bind("zwlr_layer_shell_v1");
  const shm = connection.bind("wl_shm");
  if (!compositor || !shell || !shm || !seat.has("pointer")) throw unknownPlace(connection.compositor);
  const pointer = seat.object.make("get_pointer");
  const closers: Array<() => void> = [() => pointer.ask("release")];
  const cover = (output: Output) => {
    const { width, height } = sizeOf(output.region);
    const surface = compositor.make("create_surface");
    const layer = shell.make("get_layer_surface", surface.id, output.object.id, OVERLAY, "svc");
    closers.push(() => {
      layer.ask("destroy");
      surface.ask("destroy");
    });
    layer.ask("set_anchor", ALL_SIDES);
    layer.ask("set_exclusive_zone", OVER_PANELS);
    layer.on({
      configure(serial) {
        layer.ask("ack_configure", serial);
        const memory = createMemory(width * height * 4);
        if (!memory) return;
        const pool = shm.make("create_pool", memory.fd, width * height * 4);
        closeSync(memory.fd);
        const buffer = pool.make("create_buffer", 0, width, height, width * 4, ARGB);
        pool.ask("destroy");
        closers.push(() => buffer.ask("destroy"));
        surface.ask("attach", buffer.id, 0, 0);
        surface.ask("commit");
      },
    });
    surface.ask("commit");
    return { id: surface.id, corner: output.region };
  };
  const covers = outputsOn(connection, outputs).map(cover);
  const find = connection.wait<Point>("the place of the pointer", (resolve) => {
    pointer.on({
      enter(_serial, surface, x, y) {
        const found = covers.find(({ id }) => id === surface);
        if (found) resolve({ x: found.corner.x1 + Math.floor(x), y: found.corner.y1 + Math.floor(y) });
      },
    });
  });
  find.catch(() => {});
  try {
    const place = await Promise.race([find, sleep(ENTER_MS, undefined)]);
    if (!place) throw unknownPlace(connection.compositor);
    return place;
  } finally {
    for (const close of closers) close();
    await connection.roundTrip();
  }
}
