/** The checks that a host leaves out: those of the desktop, for instance, where there is none on purpose. */
export interface SkipSettings {
  /** @throws when the settings cannot be read. */
  get(name: "diagnose.skip"): readonly string[];
}

/** Their names; none while the settings cannot be read, which `config_dir` reports. */
export async function skippedHere(service: { settings(): Promise<SkipSettings> }): Promise<string[]> {
  try {
    return [...(await service.settings()).get("diagnose.skip")];
  } catch {
    return [];
  }
}
