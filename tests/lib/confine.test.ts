import { expect, test } from "bun:test";
import { takeOver } from "./support";

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux("a process alone reaches its own folder, and no other file, program, process or socket", async () => {
  const { writeInside, readInside, udp, interfaces, allThreads, ...others } = await takeOver("alone");
  expect({ writeInside, readInside, udp, interfaces, allThreads }).toEqual({
    ...{ writeInside: true, readInside: true, udp: true, interfaces: true },
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
      // That these succeed here shows that the filter above refuses them.
      ...{ socketPair: true, signalByOwner: true, signalOfChoice: true, signalByControl: true },
      ...{ sharedMemory: true, priorityOfParent: true, schedulerOfParent: true, watchOutside: true },
    });
    expect(outcomes.allThreads).toBe(true);
  },
);
