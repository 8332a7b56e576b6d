/** What is left of a text when what differs from moment to moment and from machine to machine is taken out. */
import { expect, test } from "bun:test";
import { createNormalForm, namesOf } from "../../../src/wire/screen/signature";

const normal = (text: string, ...names: string[]) => createNormalForm()(text, namesOf(...names));

test("a number, a time, a date, an amount and an address are the same as another one", () => {
  for (const [one, other] of [
    ["Sold: 7", "Sold: 1,204"],
    ["10:32:07 Tickets", "9:01 Tickets"],
    ["on 2026-11-28", "on 28.11.2026"],
    ["at 10.0.0.5", "at 192.168.1.20"],
    ["Load 99 %", "Load 5 %"],
  ] as const)
    expect(normal(one)).toBe(normal(other));
  expect(normal("Load 99 %")).toBe("load # %");
});

test("an id is, in hexadecimal digits too; words are not, and neither is a code", () => {
  expect(normal("Session 3fa9c2")).toBe("session #");
  expect(normal("Job 123e4567-e89b-12d3-a456-426614174000")).toBe("job #");
  expect(normal("Session deadbeef")).toBe("session #");
  expect(normal("A decade of bread")).toBe("a decade of bread");
  expect(normal("Error 0x80070005")).toBe("error 0x80070005");
  expect(normal("Error 0x80070005")).not.toBe(normal("Error 0x00000000"));
});

test("the name of the machine is taken out in any case, the longest first, and a short one is not", () => {
  expect(normal("Till of LAB-07.example.org", "lab-07", "lab-07.example.org")).toBe("till of @");
  expect(normal("it is a fit", "it")).toBe("it is a fit");
});
