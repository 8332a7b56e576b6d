/**
 * The results of a broadcast in a file, one line of JSON a host, as they come: what is there when the process is killed is
 * true.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { messageOf, systemCode, unavailable } from "../lib/errors";
import { PRIVATE_FILE } from "../lib/files";
import { jsonLine } from "../lib/sanitize";
import type { Delivered } from "./delivered";

export interface ResultFile {
  /** Never throws: the broadcast goes on. */
  add(result: Delivered): void;
  /** @throws an `unavailable` failure when a line could not be written. */
  close(): void;
}

/** @throws an `unavailable` failure when the file cannot be made. What it held is gone with the first result. */
export function createResultFile(path: string): ResultFile {
  const failed = (error: unknown) =>
    unavailable(`output: ${path} cannot be written (${systemCode(error) ?? messageOf(error)})`);
  let file: number;
  try {
    file = openSync(path, "a", PRIVATE_FILE);
  } catch (error) {
    throw failed(error);
  }
  let begun = false;
  let fault: unknown;
  return {
    add(result) {
      if (fault !== undefined) return;
      try {
        if (!begun && fstatSync(file).isFile()) ftruncateSync(file);
        begun = true;
        writeSync(file, `${jsonLine(result)}\n`);
      } catch (error) {
        fault = error;
      }
    },
    close() {
      closeSync(file);
      if (fault !== undefined) throw failed(fault);
    },
  };
}
