/**
 * By what hosts of the address book are looked up besides their labels.
 */
import { hostOf, type KeysOf } from "./book/items";

const listed = (key: string | undefined): readonly string[] => (key === undefined ? [] : [key]);

/** The id of a host that has joined. */
export const byHostId: KeysOf = (item) => listed(hostOf(item)?.member?.host_id);

/** The key of a host that has joined, as the NATS server knows it. */
export const byNatsKey: KeysOf = (item) => listed(hostOf(item)?.member?.nats_key);
