/** A window with a picture in it, as a photo has it: nearly each pixel has another colour. */
import { createClient } from "x11";

/** What is used of `x11` here, beyond what svc uses of it. */
interface Client {
  AllocID(): number;
  CreateWindow(...args: unknown[]): void;
  MapWindow(id: number): void;
  CreateGC(id: number, window: number, values: object): void;
  PutImage(format: number, window: number, gc: number, ...args: unknown[]): void;
  on(event: "event", listener: (event: { readonly type: number }) => void): void;
  close(done?: () => void): void;
}
interface Display {
  readonly client: Client;
  readonly screen: ReadonlyArray<{ readonly root: number }>;
}
type Open = (options: object, done: (error: Error | null, display: Display) => void) => void;

const [EXPOSURES, EXPOSE, Z_PIXMAP] = [0x8000, 12, 2];
const SIZE = { width: 256, height: 192 };

/** As many colours as a photo has, the same each time. */
export function colours(count: number): Int32Array {
  let seed = 1;
  return Int32Array.from({ length: count }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (seed >> 4) & 0xff_ffff;
  });
}

/** Shows it on the display of `env` until the scope ends. */
export async function showPicture(env: NodeJS.ProcessEnv): Promise<Disposable> {
  const { client, screen } = await new Promise<Display>((resolve, reject) =>
    (createClient as unknown as Open)({ display: env.DISPLAY }, (error, display) =>
      error ? reject(error) : resolve(display),
    ),
  );
  const { width, height } = SIZE;
  const [window, gc] = [client.AllocID(), client.AllocID()];
  const values = { overrideRedirect: true, eventMask: EXPOSURES };
  client.CreateWindow(window, screen[0]?.root, 640, 256, width, height, 0, 0, 0, 0, values);
  client.CreateGC(gc, window, {});
  const bytes = Buffer.from(colours(width * height).buffer);
  const { promise: drawn, resolve } = Promise.withResolvers<void>();
  client.on("event", ({ type }) => {
    if (type !== EXPOSE) return;
    client.PutImage(Z_PIXMAP, window, gc, width, height, 0, 0, 0, 24, bytes);
    resolve();
  });
  client.MapWindow(window);
  await drawn;
  return { [Symbol.dispose]: () => client.close() };
}
