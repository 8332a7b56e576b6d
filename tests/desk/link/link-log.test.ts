/** What the log of a server says of the links of its hub. */
import { expect, test } from "bun:test";
import { createLinkLog } from "../../../src/desk/link/link-log";

test("a link that comes up or ends has a line; of many at once, the rest is counted", () => {
  const lines: string[] = [];
  let now = 0;
  const links = createLinkLog({ info: (text) => lines.push(text) }, () => now);
  links.up("lab-01", "10.0.0.4");
  links.down("lab-01", "the link was lost");
  links.flush();
  expect(lines).toEqual(["lab-01 is linked, from 10.0.0.4", "lab-01 is not linked: the link was lost"]);
  for (let nth = 0; nth < 5_000; nth++) links.up(`h${nth}`, "10.0.0.5");
  for (let nth = 0; nth < 7; nth++) links.down(`h${nth}`, "the link was lost");
  expect(links.flush()).toBe(true);
  expect(lines.length).toBe(10);
  now += 5_000;
  links.flush();
  expect(lines.slice(10)).toEqual(["besides: 4992 came up, 7 ended (`svc link list` shows all links)"]);
  expect(links.flush()).toBe(false);
  expect(lines.length).toBe(11);
});
