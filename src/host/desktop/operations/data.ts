/**
 * The operations of data that svc does not carry, and a person adds: what the reader of text must know of a language.
 */
import * as v from "valibot";
import { field, NO_INPUT, path } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { configFiles } from "../../../lib/paths";
import { addLanguage, LANGUAGE, listLanguages, removeLanguage } from "../text/language";

interface Uses {
  readonly configDir: string;
}

const ON_THE_HOST = "it is about files of the host: `svc data` there";
const LEFT_OUT = { leftOut: { http: ON_THE_HOST, script: ON_THE_HOST } } as const;

const PREFIX = "ocr-";
const NAME = v.pipe(
  v.string(),
  v.check(
    (name) => name.startsWith(PREFIX) && v.is(LANGUAGE, name.slice(PREFIX.length)),
    "ocr- and the name of a language, such as ocr-eng",
  ),
);
const languageOf = (name: string) => name.slice(PREFIX.length);
const ROW = v.object({ name: v.string(), bytes: v.number() });

export const addData = operation({
  ...LEFT_OUT,
  name: "data.add",
  summary: "Add the data of a language for reading text on the screen",
  scope: "admin",
  changes: true,
  input: v.strictObject({
    name: field(NAME, "What it is: ocr- and the name of a language, such as ocr-eng"),
    file: field(
      path(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))),
      "The file, as tesseract has it: eng.traineddata",
    ),
  }),
  output: ROW,
  run: async ({ configDir }: Uses, { name, file }) => ({
    name,
    bytes: await addLanguage(configFiles(configDir).ocr, languageOf(name), file),
  }),
});

export const listData = operation({
  ...LEFT_OUT,
  name: "data.list",
  summary: "List the data that was added",
  scope: "read",
  input: NO_INPUT,
  output: v.object({ data: v.array(ROW) }),
  async run({ configDir }: Uses) {
    const languages = await listLanguages(configFiles(configDir).ocr);
    return { data: languages.map(({ language, bytes }) => ({ name: PREFIX + language, bytes })) };
  },
});

export const removeData = operation({
  ...LEFT_OUT,
  name: "data.remove",
  summary: "Remove data that was added",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  input: v.strictObject({ name: field(NAME, "Which: as `svc data list` names it") }),
  output: v.object({ removed: v.string() }),
  async run({ configDir }: Uses, { name }) {
    await removeLanguage(configFiles(configDir).ocr, languageOf(name));
    return { removed: name };
  },
});

export const operations = [addData, listData, removeData];
