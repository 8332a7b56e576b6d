/** Which of the states of a name counts for which host. */
import { nextSlice } from "../../../lib/turn";
import type { AddressBook } from "../../fleet/address-book";
import type { Host } from "../../fleet/host";
import type { SentToHosts } from "./kept";

/** For each host of the book that one of them selects: the last one that does. In slices, as there may be a hundred. */
export async function placedOn(
  book: Pick<AddressBook, "matching">,
  applied: readonly SentToHosts[],
): Promise<Map<Host, SentToHosts>> {
  const placed = new Map<Host, SentToHosts>();
  for (const sent of applied) {
    await nextSlice();
    for (const host of await book.matching(sent.on)) placed.set(host, sent);
  }
  return placed;
}
