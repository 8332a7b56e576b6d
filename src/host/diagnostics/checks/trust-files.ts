/** `trust_files`: the files are there and whole on which trust rests. */
import { check, failed, fine } from "../check";

interface Uses {
  fileFaults(): Promise<ReadonlyArray<{ readonly file: string; readonly problem: string }>>;
}

export const trustFiles = check({
  name: "trust_files",
  summary:
    "The keys, lists and databases on which trust rests can be read, and none that was there is missing; jobs and settings can be read",
  advice: ["see the table of files in docs/service.md"],
  async run(service: Uses) {
    const faults = await service.fileFaults();
    if (faults.length === 0) return fine("all can be read", { files: [] });
    return failed(
      faults.map(({ problem }) => problem).join("; "),
      [
        "mend or restore the file: until then svc refuses what needs it, and nothing that was trusted is lost",
      ],
      { files: faults.map(({ file }) => file) },
    );
  },
});
