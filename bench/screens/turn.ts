/** One turn of a server in the bench of the live screen. */
import { deadline } from "../../src/lib/deadline";
import { median } from "../support";
import { processorMs, type Rival } from "./rivals";
import type { Scene, Stage, Viewer } from "./watch";

export const SCENES = ["still", "small", "large", "scroll"] as const satisfies Scene[];
/** How long the pictures of a scene are counted, in milliseconds. */
export const SCENE_MS = 6_000;
const KEYS = 80;
/** How long a turn may take, in milliseconds: x11vnc stood still once, and a key that is never shown takes two seconds. */
const TURN_MS = 360_000;

/** What one server did in one scene of one turn. */
export interface SceneRun {
  /** Pictures a second on the canvas, and drawn. */
  readonly fps: number;
  readonly drawnFps: number;
  /** Per cent of one processor; and without the program before the server. */
  readonly processor: number;
  readonly alone: number;
  readonly keyP50: number;
  readonly keyP95: number;
}

/** Starts a server, and shows each scene to a viewer of it. */
export async function takeTurn(
  start: () => Promise<Rival>,
  stage: Stage,
  viewer: Viewer,
): Promise<SceneRun[]> {
  await using rival = await start();
  const watchAll = async () => {
    await stage.show("still");
    await viewer.connect(await rival.enter());
    await Bun.sleep(1_500);
    const seen: SceneRun[] = [];
    for (const scene of SCENES) seen.push(await watch(rival, stage, viewer, scene));
    await viewer.disconnect();
    return seen;
  };
  const seen = await deadline(watchAll(), { ms: TURN_MS });
  if (process.env.SCREEN_DEBUG)
    console.error(
      seen
        .map((one) =>
          Object.values(one)
            .map((n) => n.toFixed(1))
            .join(" "),
        )
        .join(" | "),
    );
  return seen;
}

async function watch(rival: Rival, stage: Stage, viewer: Viewer, scene: Scene): Promise<SceneRun> {
  await stage.show(scene);
  await Bun.sleep(1_000);
  await stage.show(scene);
  const started = performance.now();
  const usedBefore = used(rival);
  const fps = await viewer.framesPerSecond(scene, SCENE_MS);
  const seconds = (performance.now() - started) / 1_000;
  const usedAfter = used(rival);
  const alone = (usedAfter.alone - usedBefore.alone) / seconds / 10;
  const relay = (usedAfter.relay - usedBefore.relay) / seconds / 10;
  const drawnFps = (await stage.show(scene)) / seconds;
  const times = await viewer.keys(KEYS);
  await stage.show("still");
  return {
    fps,
    drawnFps,
    processor: alone + relay,
    alone,
    keyP50: median(times),
    keyP95: times[Math.floor(times.length * 0.95)] ?? Number.NaN,
  };
}

/** Processor time so far, in milliseconds. */
const used = ({ pid, relayPid }: Rival) => ({
  alone: processorMs(pid),
  relay: relayPid === undefined ? 0 : processorMs(relayPid),
});
