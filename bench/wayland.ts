/**
 * The live screen on Wayland: a terminal of 1280x800 whose text scrolls on sway, without a screen or a graphics card. Pictures that a viewer gets in a
 * second are divided by the twenty that there have to be.
 */
import { join } from "node:path";
import { type Session, startSway } from "../tests/host/desktop/wayland/support";
import { startSvcScreen } from "./screens/rivals";
import { openSink } from "./screens/sink";
import { type Figure, temporaryFolder } from "./support";

/** How long pictures are counted, and before that let run, in milliseconds. */
const [COUNTED_MS, BEFORE_MS] = [5_000, 2_000];
const NEEDED = 20;
/** Text that scrolls, some fifty pictures of it a second, each another: nothing is sent of a picture like the one before. */
const SCROLL = "i=0; while :; do i=$((i + 1)); seq $i $((i + 39)); sleep 0.02; done";

export async function bench(): Promise<Figure[]> {
  const figure = { name: "live screen of sway, 1280x800: pictures a second", goal: ">= 1" } as const;
  const missing = ["sway", "foot", "setpriv"].filter((one) => Bun.which(one) === null);
  if (missing.length > 0) return [{ ...figure, ratio: Number.NaN, detail: `needs ${missing.join(", ")}` }];
  await using session = await startSway();
  const rate = await picturesPerSecond(session);
  return [{ ...figure, ratio: rate / NEEDED, detail: `${rate.toFixed(1)} / ${NEEDED}` }];
}

async function picturesPerSecond(session: Session): Promise<number> {
  session.start(["foot", "sh", "-c", SCROLL]);
  using configDir = temporaryFolder();
  const before = { ...process.env };
  Object.assign(process.env, session.env);
  try {
    await using svc = await startSvcScreen("", join(configDir.path, "svc"));
    using sink = openSink(await svc.enter(false));
    await Bun.sleep(BEFORE_MS);
    const [from, began] = [sink.updates, performance.now()];
    await Bun.sleep(COUNTED_MS);
    return ((sink.updates - from) * 1_000) / (performance.now() - began);
  } finally {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
