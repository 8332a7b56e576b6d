import { expect, test } from "bun:test";
import { createHostCheck } from "../../src/http/host-header";

const expectAnswers = (answersTo: (host: string) => boolean, expected: boolean, hosts: readonly string[]) => {
  for (const host of hosts) expect([host, answersTo(host)]).toEqual([host, expected]);
};

test("an address and a name of loopback are answered to, with any port", () => {
  const answersTo = createHostCheck([]);
  expectAnswers(answersTo, true, [
    ...["localhost", "LOCALHOST:80", "localhost.", "lab.localhost"],
    ...["127.0.0.1:9939", "127.1.2.3", "192.0.2.1", "127.0.0.1.", "[::1]:1", "[2001:db8::2]"],
  ]);
});

test("no other name is answered to, and nothing that only looks like an address", () => {
  const answersTo = createHostCheck(["lab-01"]);
  expectAnswers(answersTo, false, [
    ...["example.com", "127.0.0.1.example.com", "localhost.example.com", "lab-01.example", "xlab-01"],
    ...[
      "evil:80@localhost",
      "localhost, evil",
      "1.2.3",
      "0x7f.1",
      "2130706433",
      "127.0.0.1..",
      "[127.0.0.1]",
    ],
    ...["", ":80", ".", "[]"],
  ]);
});

test("what is no host with a port is not answered to, whatever it ends in", () => {
  const answersTo = createHostCheck(["lab-01"]);
  expectAnswers(answersTo, false, [
    ...["127.0.0.1/health?.localhost", "a b.localhost", "a@b.localhost", "a#.localhost", "[.localhost"],
    ...["127.0.0.1:65536", "lab-01:999999999", "localhost:8x", "[::1%eth0]"],
  ]);
});

test("a name of its own is answered to, in any case, with any port and a final dot", () => {
  const answersTo = createHostCheck(["Lab-01.example", "lab-03.example:443", "lab-04.example."]);
  expectAnswers(answersTo, true, [
    "lab-01.EXAMPLE:9939",
    "lab-03.example",
    "lab-04.example",
    "lab-01.example.:1",
  ]);
  expectAnswers(answersTo, false, ["lab-02.example"]);
});

test("a name of the certificate is answered to", () => {
  const answersTo = createHostCheck([], (name) => name === "lab-01.example");
  expectAnswers(answersTo, true, ["LAB-01.example:9939", "lab-01.example."]);
  expectAnswers(answersTo, false, ["lab-02.example"]);
});
