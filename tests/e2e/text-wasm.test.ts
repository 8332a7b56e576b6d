/** Reading text through the compiled binary, alone in a folder, on a host without the program tesseract. */
import { expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { PROGRAMS, startDisplay } from "../host/desktop/support";
import { englishData, writePackage } from "../host/desktop/tesseract-wasm";
import { testWith, until } from "../support";
import { installedBinary } from "./binary";

setDefaultTimeout(180_000);

testWith(...PROGRAMS, "tesseract")(
  "text is read with tesseract-wasm once its package and a language were added",
  async () => {
    await using display = await startDisplay({ managed: false, screens: ["800x400x24"] });
    const font = ["-fa", "DejaVu Sans Mono", "-fs", "11", "-bg", "white", "-fg", "black"];
    const print = ["-e", "sh", "-c", "echo Customer number 4711; echo Save changes; exec sleep 600"];
    await using window = Bun.spawn(["xterm", ...font, "-geometry", "60x10+100+80", ...print], {
      env: display.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    using svc = installedBinary();
    const run = (...args: readonly string[]) =>
      svc.run(args, { PATH: "/nonexistent", DISPLAY: display.env.DISPLAY ?? "" });

    const refused = await run("desktop", "read-text");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(
      "nor tesseract-wasm (`svc data add ocr-wasm tesseract-wasm-0.11.0.tgz`)",
    );
    const advised = await run("diagnose", "--only", "optional_deps");
    expect(advised.stdout).toContain("; without: ocr");
    expect(advised.stdout).toContain("ocr (reading text on the screen): install tesseract");

    const file = join(svc.folder, "tesseract-wasm-0.11.0.tgz");
    await writePackage(file);
    expect(await run("data", "add", "ocr-wasm", file)).toMatchObject({
      stdout: "added ocr-wasm\n",
      exitCode: 0,
    });
    await run("data", "add", "ocr-eng", await englishData());
    expect((await run("data", "list")).stdout).toMatch(/^ocr-eng +\d+\nocr-wasm +\d+$/m);
    await until(
      "the terminal to be read",
      async () => /number 4711.*Save changes/s.test((await run("desktop", "read-text")).stdout),
      { seconds: 90 },
    );
    const { stdout } = await run("diagnose", "--only", "optional_deps", "--json");
    expect(stdout).toContain('"found":"tesseract-wasm 0.11.0 with eng"');
    expect(window.exitCode).toBeNull();
  },
);
