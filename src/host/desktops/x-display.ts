/** A display of X11: a server without a screen (or in a window), which its cookie opens, and a window manager. */
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newAuthority } from "./authority";
import { firstLine, ignore, type Stage, type StartedDisplay } from "./stage";
import type { Tools } from "./tools";

/** What makes a window manager say on its standard output that it is there. */
const MANAGER_FLAGS: Readonly<Record<string, readonly string[]>> = { openbox: ["--startup", "echo ready"] };

/** An X server, and a window manager. @throws as {@link firstLine}. */
export async function startX(
  tools: Tools,
  { size, scale, folder, account, env, start, signal }: Stage,
): Promise<StartedDisplay> {
  const authority = join(folder, "authority");
  writeFileSync(authority, newAuthority(), { mode: 0o600 });
  if (account) chownSync(authority, account.uid, account.gid);
  const bare = {
    ...env,
    XAUTHORITY: authority,
    XDG_SESSION_TYPE: "x11",
    GDK_BACKEND: "x11",
    QT_QPA_PLATFORM: "xcb",
    ...(scale !== 1 && { GDK_SCALE: `${scale}`, QT_SCALE_FACTOR: `${scale}` }),
  };
  const server = start(tools.server.command({ size, authority }), { ...bare, ...tools.server.env });
  const name = `:${await firstLine(tools.server.program, server, signal)}`;
  const { program, path } = tools.manager;
  return {
    server,
    name,
    program: tools.server.program,
    env: { ...bare, DISPLAY: name },
    async rest() {
      const manager = start([path, ...(MANAGER_FLAGS[program] ?? [])], { ...bare, DISPLAY: name });
      if (program in MANAGER_FLAGS) await firstLine(program, manager, signal);
      else ignore(manager);
      return [{ program, child: manager, mayLeave: true }];
    },
  };
}
