/** `desktops`: this host has the programs for desktops on demand. */
import { check, type Finding, fine } from "../check";

interface Uses {
  desktopTools(): Promise<{
    /** The X server and the window manager that would be used; null where one is missing. */
    readonly uses: readonly string[] | null;
    readonly missing: ReadonlyArray<{ readonly what: string; readonly install: string }>;
    readonly hasBus: boolean;
  }>;
}

export const desktops = check({
  name: "desktops",
  summary:
    "What this host has for desktops on demand: an X server without a screen, a window manager, a session bus",
  advice: ["svc help desktops"],
  async run(service: Uses): Promise<Finding> {
    if (process.platform !== "linux")
      return fine("desktops on demand: not on this platform", { available: false });
    const { uses, missing, hasBus } = await service.desktopTools();
    if (uses === null) {
      // Nobody has asked for one: what is missing is no fault.
      const packages = missing.map(({ install }) => install);
      return fine(
        `no desktops on demand: ${missing.map(({ what }) => what).join(" and ")} missing (apt install ${packages.join(" ")})`,
        { available: false, install: packages },
      );
    }
    const bus = hasBus ? "" : "; without dbus-daemon nothing on them is found by name (apt install dbus)";
    return fine(`desktops on demand: ${uses.join(" and ")}${bus}`, { available: true, by_name: hasBus });
  },
});
