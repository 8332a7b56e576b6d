/** The key with which the parameters of a run are digested. */
import { parametersText } from "../../../wire/receipt/run-record";
import type { AuditKey } from "../witness/key";

/** 64 hexadecimal digits, the same for the same run: a signature that only the key of the log can make. */
export const parametersKeyOf = (key: AuditKey, run: string): string =>
  Bun.SHA256.hash(key.sign(parametersText(run)), "hex");
