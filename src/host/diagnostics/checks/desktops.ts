/** `desktops`: this host has the programs for desktops on demand. */
import { sizeText } from "../../../lib/units";
import type { DesktopTools } from "../../desktops/tools";
import { check, type Finding, fine, warning } from "../check";

interface Uses {
  desktopTools(): Promise<DesktopTools>;
}

/** From this share of what it may hold on, a desktop is named. */
const NEARLY_FULL = 0.9;

export const desktops = check({
  name: "desktops",
  summary:
    "What this host has for desktops on demand: an X server without a screen, a window manager, a session bus; what their folders may hold, a warning for one that is nearly full",
  advice: ["svc help desktops"],
  async run(service: Uses): Promise<Finding> {
    if (process.platform !== "linux")
      return fine("desktops on demand: not on this platform", { available: false });
    const { uses, missing, hasBus, disk } = await service.desktopTools();
    if (uses === null) {
      // Nobody has asked for one: what is missing is no fault.
      const packages = missing.map(({ install }) => install);
      return fine(
        `no desktops on demand: ${missing.map(({ what }) => what).join(" and ")} missing (apt install ${packages.join(" ")})`,
        { available: false, install: packages },
      );
    }
    const bus = hasBus ? "" : "; without dbus-daemon nothing on them is found by name (apt install dbus)";
    const has = `desktops on demand: ${uses.join(" and ")}${bus}`;
    const extra = { available: true, by_name: hasBus };
    const limit_bytes = disk?.limit;
    if (!disk || !limit_bytes) return fine(has, extra);
    const most = disk.used.toSorted((a, b) => b.used_bytes - a.used_bytes)[0];
    const limited = `${has}; each holds at most ${sizeText(limit_bytes)} of files, or svc ends it (it looks every few seconds)`;
    const figures = {
      ...extra,
      disk_limit_bytes: limit_bytes,
      disk_most: most ?? null,
    };
    if (!most) return fine(limited, figures);
    const text = `${limited}; most has ${most.name}: ${sizeText(most.used_bytes)}`;
    return most.used_bytes < limit_bytes * NEARLY_FULL ? fine(text, figures) : warning(text, FULL, figures);
  },
});

const FULL = ["let its programs remove files, stop it, or allow more (svc serve --desktop-disk 4GiB)"];
