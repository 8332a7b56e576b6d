/** Pictures that a command line writes: one to a file or to stdout, those of many hosts to a folder. */
import { join } from "node:path";
import * as v from "valibot";
import { field } from "../core/fields";
import { writeNamedFile } from "../lib/files";
import { printable } from "../lib/sanitize";
import { type GlobalFlags, print } from "./subcommand";

/** A PNG in base64. */
interface Picture {
  readonly data: string;
  readonly width: number | null;
  readonly height: number | null;
}

/** The flag that names the file. */
export const PICTURE_OUTPUT = field(
  v.optional(v.string()),
  "File to write (screenshot.png), - for stdout; with --on a folder (.)",
);

/** Whether base64 `data` begins as a PNG does (PNG specification, section 5.2). */
export const isPng = (data: string): boolean =>
  Buffer.from(data.slice(0, 12), "base64").toString("hex").startsWith("89504e470d0a1a0a");

/** A part of the name of a file for a host. */
export const fileNameOf = (host: string): string => host.replaceAll(/[^\p{L}\p{N}._-]/gu, encodeURIComponent);

/** Writes a picture. @param data base64. @param flag that named the place, for messages. */
export const writePng = (file: string, data: string, flag = "--pictures"): void =>
  writeNamedFile(file, Buffer.from(data, "base64"), flag);

/** Writes the picture of a host to a folder. @returns the row of a table: the file, and the size. */
export function writePictureOf(host: string, { data, width, height }: Picture, folder = "."): string[] {
  const file = join(folder, `${fileNameOf(host)}.png`);
  writePng(file, data, "--output");
  return [file, width === null ? "" : `${width} x ${height}`];
}

/** Writes the picture of this host, and says where. @param more what is said besides. */
export async function writePicture(
  globals: GlobalFlags,
  picture: Picture,
  file = "screenshot.png",
  more = "",
): Promise<void> {
  const png = Buffer.from(picture.data, "base64");
  if (globals.json) print(globals, picture, String);
  else if (file === "-") await Bun.write(Bun.stdout, png);
  else {
    writeNamedFile(file, png, "--output");
    console.log(`${printable(file)}  ${picture.width} x ${picture.height}${more}`);
  }
}
