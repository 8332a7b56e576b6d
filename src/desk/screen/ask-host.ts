/** Asking a host of the address book about its screen, for a caller of this desk. */
import type * as v from "valibot";
import type { Caller } from "../../core/caller";
import type { Endpoint, InputSchema, OutputSchema } from "../../core/operation";
import type { AddressBook } from "../fleet/address-book";

/** What it uses of the service. */
export interface AskUses {
  addressBook(): Promise<Pick<AddressBook, "server">>;
}

/** How long a host may take, in milliseconds, and how large its answer may be, in bytes (default: a quarter of a mebibyte). */
interface AskLimits {
  readonly ms: number;
  readonly maxBytes?: number;
}

/** The answer of a host at `endpoint`. @throws as `callHost`. */
export async function askHost<I extends InputSchema, O extends OutputSchema>(
  service: AskUses,
  label: string,
  endpoint: Endpoint<I, O>,
  input: v.InferInput<I>,
  caller: Caller,
  { ms, maxBytes }: AskLimits,
): Promise<v.InferOutput<O>> {
  const server = (await service.addressBook()).server(label);
  caller.request?.relay?.to(label);
  // Loaded on first use: the modules for dialling are large.
  const { callHost } = await import("../../client/for-caller");
  return callHost({ label, server }, endpoint, input, caller, ms, maxBytes);
}
