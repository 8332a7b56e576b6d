/**
 * The operations of data that svc does not carry, and a person adds: what the reader of text must know of a language, and one that reads
 * where the host has none.
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
/** The core of tesseract-wasm: `wasm` has no form of a language. */
const CORE = "ocr-wasm";
const NAME = v.pipe(
  v.string(),
  v.check(
    (name) => name === CORE || (name.startsWith(PREFIX) && v.is(LANGUAGE, name.slice(PREFIX.length))),
    "ocr- and the name of a language, such as ocr-eng, or ocr-wasm",
  ),
);
const loadCore = () => import("../text/wasm-core");
const languageOf = (name: string) => name.slice(PREFIX.length);
const ROW = v.object({ name: v.string(), bytes: v.number() });

export const addData = operation({
  ...LEFT_OUT,
  name: "data.add",
  summary: "Add data for reading text on the screen: a language, or tesseract-wasm",
  scope: "admin",
  changes: true,
  input: v.strictObject({
    name: field(NAME, "What it is: ocr- and the name of a language, such as ocr-eng, or ocr-wasm"),
    file: field(
      path(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))),
      "The file: eng.traineddata as tesseract has it, or the package of tesseract-wasm as npm has it",
    ),
  }),
  output: ROW,
  async run({ configDir }: Uses, { name, file }) {
    const folder = configFiles(configDir).ocr;
    if (name === CORE) return { name, bytes: await (await loadCore()).addCore(folder, file) };
    return { name, bytes: await addLanguage(folder, languageOf(name), file) };
  },
});

export const listData = operation({
  ...LEFT_OUT,
  name: "data.list",
  summary: "List the data that was added",
  scope: "read",
  input: NO_INPUT,
  output: v.object({ data: v.array(ROW) }),
  async run({ configDir }: Uses) {
    const folder = configFiles(configDir).ocr;
    const languages = await listLanguages(folder);
    const data = languages.map(({ language, bytes }) => ({ name: PREFIX + language, bytes }));
    const core = (await loadCore()).coreBytes(folder);
    return { data: core === undefined ? data : [...data, { name: CORE, bytes: core }] };
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
    const folder = configFiles(configDir).ocr;
    if (name === CORE) await (await loadCore()).removeCore(folder);
    else await removeLanguage(folder, languageOf(name));
    return { removed: name };
  },
});

export const operations = [addData, listData, removeData];
