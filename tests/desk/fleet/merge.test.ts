import { expect, test } from "bun:test";
import { mergeAddressBooks } from "../../../src/desk/fleet/address-book";

const hostAt = (label: string, more: object = {}) => ({
  ...{ label, base_url: "http://10.0.0.1", token: "secret-token" },
  ...more,
});
const book = (...hosts: unknown[]) => ({ hosts });

test("hosts with labels of their own are added behind those that are here", () => {
  const merged = mergeAddressBooks(book(hostAt("a")), book(hostAt("b"), hostAt("c")));
  expect(merged).toEqual({ content: book(hostAt("a"), hostAt("b"), hostAt("c")), conflicts: [] });
});

test("of two with one label, the one here stays; it is a conflict where they differ in what counts", () => {
  const here = book(hostAt("a"), hostAt("b"));
  const there = book(
    hostAt(" a ", { base_url: "http://10.0.0.1/" }),
    hostAt("b", { token: "another-token" }),
  );
  expect(mergeAddressBooks(here, there)).toEqual({ content: here, conflicts: ["b"] });
});

test("what svc does not know of the book here stays, also an entry that it would not load", () => {
  const here = { version: 7, hosts: [{ label: "broken" }] };
  const { content, conflicts } = mergeAddressBooks(here, book(hostAt("a"), hostAt("broken")));
  expect(content).toEqual({ version: 7, hosts: [{ label: "broken" }, hostAt("a")] });
  expect(conflicts).toEqual(["broken"]);
});

test("a file here that is no address book is not merged", () => {
  for (const here of [[], { hosts: {} }, "text"]) {
    expect(() => mergeAddressBooks(here, book())).toThrow("is not an address book here");
  }
});
