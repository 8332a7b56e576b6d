import { expect, test } from "bun:test";
import { takeOver } from "./support";

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux("a process alone reaches its own folder, and no other file, program, process or socket", async () => {
  const { writeInside, readInside, allThreads, ...others } = await takeOver("alone");
  expect({ writeInside, readInside, allThreads }).toEqual({
    writeInside: true,
    readInside: true,
    allThreads: true,
  });
  expect(Object.entries(others).filter(([, done]) => done)).toEqual([]);
});

onLinux(
  "the basic filter leaves files, programs and sockets, and takes away other processes' memory",
  async () => {
    const outcomes = await takeOver("basic");
    expect(outcomes).toMatchObject({
      readOutside: true,
      run: true,
      tcp: true,
      unixSocket: true,
      trace: false,
    });
    expect(outcomes.allThreads).toBe(true);
  },
);
