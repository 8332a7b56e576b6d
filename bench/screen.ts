/**
 * The live screen beside Debian's x11vnc 0.9.16 with websockify: noVNC in Chromium looks at the same display of 1920x1080
 * through either, one after the other. Only the server whose turn it is runs.
 *
 * Both sides' processor time is that of all processes that a browser needs: x11vnc answers no WebSocket (its libvncserver as Debian
 * builds it ends the connection), so websockify counts. What x11vnc alone took stands beside it.
 *
 * Of ten viewers, nine are programs that ask for what noVNC asks for, answer its fences and draw nothing. The memory of a viewer is
 * what there is more of when nothing has moved for a while: what the allocators keep for the next picture is not a viewer's.
 *
 * What is drawn (30 pictures or lines a second) is what the delivered pictures are divided by; times are divided by their goals.
 */
import { join } from "node:path";
import { nameOfEncoder } from "../src/host/desktop/screen/video/encoder";
import {
  memoryBytes,
  processorMs,
  type Rival,
  startDelay,
  startSvcScreen,
  startX11vnc,
} from "./screens/rivals";
import { openSink } from "./screens/sink";
import { SCENE_MS, SCENES, type SceneRun, takeTurn } from "./screens/turn";
import { type Scene, type Stage, startStage, startViewer, type Viewer } from "./screens/watch";
import { type Figure, healthDuring, median, p99, startDisplay, temporaryFolder } from "./support";

const PROGRAMS = ["Xvfb", "xterm", "chromium", "x11vnc", "websockify"];
const VIEWERS = 10;
/** How long nothing moves before what a viewer costs at rest is looked at, in milliseconds. */
const QUIET_MS = 8_000;

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0) {
    const detail = `needs ${missing.join(", ")}`;
    return [{ name: "the live screen beside x11vnc", ratio: Number.NaN, goal: ">= 1", detail }];
  }
  await using display = await startDisplay("1920x1080", false);
  await using stage = await startStage(display.name);
  await using viewer = await startViewer();
  using configDir = temporaryFolder();
  const ours = await takeTurn(() => startSvcScreen(display.name, join(configDir.path, "svc")), stage, viewer);
  const theirs = await takeTurn(() => startX11vnc(display.name), stage, viewer);
  await using svc = await startSvcScreen(display.name, join(configDir.path, "svc"));
  return [
    ...compare(ours, theirs),
    await farAway(svc, stage, viewer),
    await idleViewer(svc, stage, viewer),
    ...(await manyViewers(svc, stage, viewer)),
    ...(await fullVideo(svc, stage, viewer)),
  ];
}

/** A video on all of the screen, in H.264 where the host has a library for it, and as JPEGs to a browser that does not decode that. */
async function fullVideo(svc: Rival, stage: Stage, viewer: Viewer): Promise<Figure[]> {
  const measure = async (to: Viewer) => {
    await stage.show("still");
    await to.connect(await svc.enter());
    await Bun.sleep(1_500);
    await stage.show("full");
    await Bun.sleep(3_000);
    const [started, before] = [performance.now(), processorMs(svc.pid)];
    const fps = await to.framesPerSecond("full", SCENE_MS);
    const cores = (processorMs(svc.pid) - before) / (performance.now() - started);
    await stage.show("still");
    await to.disconnect();
    return { fps, cores };
  };
  const video = await measure(viewer);
  await using plain = await startViewer(false);
  const jpegs = await measure(plain);
  const encoder = (await nameOfEncoder()) ?? "no encoder here";
  const beside = `as JPEGs ${jpegs.fps.toFixed(1)} a second, ${jpegs.cores.toFixed(2)} cores`;
  return [
    {
      name: "live screen: video 1080p by h264, pictures a second, against 25",
      ratio: video.fps / 25,
      goal: ">= 1",
      detail: `${video.fps.toFixed(1)} / 25 (${encoder}; ${beside})`,
    },
    {
      name: "live screen: video 1080p by h264, processor time, against one core",
      ratio: video.cores,
      goal: "<= 1",
      detail: `${video.cores.toFixed(2)} / 1 (${((video.cores * 1_000) / video.fps).toFixed(1)} ms a picture; ${beside})`,
    },
  ];
}

function compare(ours: readonly SceneRun[], theirs: readonly SceneRun[]): Figure[] {
  const scenes: readonly Scene[] = SCENES;
  const of = (seen: readonly SceneRun[], scene: Scene, what: keyof SceneRun) =>
    seen[scenes.indexOf(scene)]?.[what] ?? Number.NaN;
  const rate = (scene: Scene, name: string, goal: Figure["goal"]): Figure => {
    const [fps, drawn, other] = [
      of(ours, scene, "fps"),
      of(ours, scene, "drawnFps"),
      of(theirs, scene, "fps"),
    ];
    const detail = `${fps.toFixed(1)} / ${drawn.toFixed(1)} a second (x11vnc ${other.toFixed(1)})`;
    return {
      name: `live screen: pictures delivered of those drawn, ${name}`,
      ratio: fps / drawn,
      goal,
      detail,
    };
  };
  const delay = (scene: Scene, name: string, limit: number): Figure => {
    const [p50, p95] = [of(ours, scene, "keyP50"), of(ours, scene, "keyP95")];
    const [otherP50, otherP95] = [of(theirs, scene, "keyP50"), of(theirs, scene, "keyP95")];
    const detail = `${p95.toFixed(1)} / ${limit} ms, p50 ${p50.toFixed(1)} (x11vnc ${otherP95.toFixed(1)}, p50 ${otherP50.toFixed(1)})`;
    return { name: `live screen: key to canvas (p95) ${name}`, ratio: p95 / limit, goal: "<= 1", detail };
  };
  const cost = (scene: Scene, name: string): Figure => {
    const each = (seen: readonly SceneRun[], what: "processor" | "alone" = "processor") =>
      (of(seen, scene, what) * 10) / of(seen, scene, "fps");
    const detail = `${each(ours).toFixed(1)} / ${each(theirs).toFixed(1)} ms of a processor (x11vnc without websockify ${each(theirs, "alone").toFixed(1)})`;
    return {
      name: `live screen: processor time per picture, ${name}, against x11vnc`,
      ratio: each(ours) / each(theirs),
      goal: "<= 1.3",
      detail,
    };
  };
  const median50 = (scene: Scene, name: string): Figure => {
    const [mine, other] = [of(ours, scene, "keyP50"), of(theirs, scene, "keyP50")];
    const detail = `${mine.toFixed(1)} / ${other.toFixed(1)} ms`;
    return {
      name: `live screen: key to canvas (p50) ${name}, against x11vnc`,
      ratio: mine / other,
      goal: "<= 1",
      detail,
    };
  };
  return [
    rate("small", "640x360", ">= 0.967"),
    rate("large", "920x980", ">= 0.833"),
    rate("scroll", "a terminal that scrolls", ">= 0.967"),
    delay("still", "at rest", 20),
    delay("small", "beside a picture of 640x360", 45),
    median50("still", "at rest"),
    median50("small", "beside a picture of 640x360"),
    cost("small", "640x360"),
    cost("large", "920x980"),
  ];
}

/** A round trip of 100 ms: netem is not in every kernel, so a relay keeps each byte back for 50 ms. */
async function farAway(svc: Rival, stage: Stage, viewer: Viewer): Promise<Figure> {
  const { url, protocols } = await svc.enter();
  using relay = startDelay(url.replace("ws", "http"), 50);
  await stage.show("still");
  await viewer.connect({ url: url.replace(/^ws:\/\/[^/]+/, relay.url), protocols });
  await Bun.sleep(1_500);
  await stage.show("small");
  await Bun.sleep(2_000);
  const fps = await viewer.framesPerSecond("small", SCENE_MS);
  const times = await viewer.keys(30);
  await viewer.disconnect();
  await stage.show("still");
  return {
    name: "live screen: pictures a second of 640x360 at a round trip of 100 ms, against 24",
    ratio: fps / 24,
    goal: ">= 1",
    detail: `${fps.toFixed(1)} / 24, key to canvas p50 ${median(times).toFixed(0)} ms`,
  };
}

async function idleViewer(svc: Rival, stage: Stage, viewer: Viewer): Promise<Figure> {
  await stage.show("still");
  await viewer.connect(await svc.enter());
  await Bun.sleep(QUIET_MS);
  const before = processorMs(svc.pid);
  await Bun.sleep(10_000);
  const share = (processorMs(svc.pid) - before) / 10_000;
  await viewer.disconnect();
  return {
    name: "live screen: a viewer while nothing changes, against 1 % of a processor",
    ratio: share / 0.01,
    goal: "<= 1",
    detail: `${(share * 100).toFixed(2)} / 1 %`,
  };
}

/** Viewers that read and do not draw, beside the one in Chromium. */
async function manyViewers(svc: Rival, stage: Stage, viewer: Viewer): Promise<Figure[]> {
  await viewer.connect(await svc.enter());
  const measure = async () => {
    await stage.show("small");
    await Bun.sleep(3_000);
    const [started, before] = [performance.now(), processorMs(svc.pid)];
    const health = await healthDuring({ url: svc.http ?? "", pid: svc.pid } as never, Bun.sleep(SCENE_MS));
    const share = (processorMs(svc.pid) - before) / (performance.now() - started);
    await stage.show("still");
    await Bun.sleep(QUIET_MS);
    return { share, memory: memoryBytes(svc.pid), health: p99(health) };
  };
  const one = await measure();
  using sinks = new DisposableStack();
  for (let nth = 1; nth < VIEWERS; nth++) sinks.use(openSink(await svc.enter(false)));
  const ten = await measure();
  await viewer.disconnect();
  const each = (ten.memory - one.memory) / (VIEWERS - 1) / 1_048_576;
  return [
    {
      name: "live screen: processor time of ten viewers of 640x360, against one",
      ratio: ten.share / one.share,
      goal: "<= 1.2",
      detail: `${(ten.share * 100).toFixed(1)} / ${(one.share * 100).toFixed(1)} %`,
    },
    {
      name: "live screen: memory of each further viewer, against 6 MiB",
      ratio: each / 6,
      goal: "<= 1",
      detail: `${each.toFixed(1)} / 6 MiB`,
    },
    {
      name: "GET /health (p99) with ten viewers of the live screen, against 20 ms",
      ratio: ten.health / 20,
      goal: "<= 1",
      detail: `${ten.health.toFixed(1)} / 20 ms (one viewer ${one.health.toFixed(1)} ms)`,
    },
  ];
}
