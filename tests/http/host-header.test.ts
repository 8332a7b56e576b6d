import { expect, test } from "bun:test";
import { createHostCheck } from "../../src/http/host-header";

test("bound to loopback, only loopback names are answered to", () => {
  const answersTo = createHostCheck("127.0.0.1", []);
  for (const host of [
    "localhost",
    "LOCALHOST:80",
    "127.0.0.1:9939",
    "127.1.2.3",
    "[::1]:1",
    "lab.localhost",
  ]) {
    expect([host, answersTo(host)]).toEqual([host, true]);
  }
  const others = [
    "example.com",
    "127.0.0.1.example.com",
    "localhost.example.com",
    "evil:80@localhost",
    "",
    "[::2]",
  ];
  for (const host of [...others, null]) expect([host, answersTo(host)]).toEqual([host, false]);
});

test("a name that the operator allows is answered to, with any port", () => {
  const answersTo = createHostCheck("::1", ["Lab-01.example", "lab-03.example:443"]);
  expect(answersTo("lab-01.EXAMPLE:9939")).toBe(true);
  expect(answersTo("lab-03.example")).toBe(true);
  expect(answersTo("lab-02.example")).toBe(false);
});

test("bound to another address, any name is answered to", () => {
  expect(createHostCheck("0.0.0.0", [])("anything.example")).toBe(true);
});
