/**
 * The parsers of text from outside that run in the thread of the server, each with what takes it the longest: pieces that are repeated
 * up to the largest text that it is given. PNG, RFB and SDP are parsed in processes of their own; there they are as well bounded.
 */
import { checkInput } from "../../src/core/input";
import { parseScript } from "../../src/core/script";
import { fromQuery } from "../../src/core/text";
import { selectHostsNow } from "../../src/desk/fleet/selection";
import { importHosts } from "../../src/desk/fleet/transfer";
import { decodePng } from "../../src/host/desktop/images/decode";
import { cutMessage, ProtocolError } from "../../src/host/desktop/screen/child/viewer-messages";
import { referencesIn } from "../../src/host/runs/variables";
import { Failure } from "../../src/lib/errors";
import { excessIn } from "../../src/lib/json-bounds";
import { faultIn, placesIn } from "../../src/lib/json-places";
import { printable } from "../../src/lib/sanitize";
import { parsePin, spkiPin } from "../../src/lib/spki";
import { parseMethodCall } from "../../src/lib/xml-rpc/parse";
import { operations } from "../../src/operations";
import { parseNote, parseVerifierKey } from "../../src/wire/witness/signed-note";

/** A parser, and what it is given. */
export interface Parser {
  readonly name: string;
  /** The longest text that it is given, in characters. */
  readonly most: number;
  /** What its texts are made of. */
  readonly pieces: readonly string[];
  /** The sequences of pieces that take it the longest, each repeated to fill a text. */
  readonly worst: readonly string[];
  /** Reads a text; what it refuses is no error. */
  read(text: string): unknown;
}

/** Calls `parse`, whose refusals are expected. */
const refusing =
  <T>(parse: (text: string) => T) =>
  async (text: string) => {
    try {
      return await parse(text);
    } catch (error) {
      if (error instanceof Failure || error instanceof SyntaxError || error instanceof ProtocolError)
        return undefined;
      throw error;
    }
  };

const HOSTS = Array.from({ length: 1_000 }, (_, nth) => ({
  label: `host-${nth}`,
  base_url: "http://127.0.0.1:9",
  token: "not-a-token-of-it",
  tags: ["lab", `rack-${nth % 40}`],
}));

const inputOf = (path: string) => {
  const found = operations.find(({ http }) => http?.path === path);
  if (!found) throw new Error(`expected an operation at ${path}`);
  return found.input;
};

const JSON_PIECES = ["[", "]", "{", "}", ",", ":", '"a"', "1", "-0.5e3", "null", " ", "\n", '"', "\\n", "\\"];
const JSON5_PIECES = [
  ...JSON_PIECES,
  "'b'",
  "c",
  "\\u0061",
  "'",
  "//",
  "/*",
  "*/",
  "é",
  "\u2003",
  "+.5",
  "0x1F",
  "\\\n",
];

/** A 1x1 PNG, without what follows its header. */
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55", "hex");

export const PARSERS: readonly Parser[] = [
  {
    name: "bounds of JSON",
    most: 1_048_576,
    pieces: JSON_PIECES,
    worst: ['"a",', '"\\"', "1,"],
    read: (text) => excessIn(text, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
  },
  {
    name: "faults of JSON",
    most: 1_048_576,
    pieces: JSON_PIECES,
    worst: ["1,", '"\\n",', "[],", " ", '{"a":1},'],
    read: (text) => faultIn(`[${text}`),
  },
  {
    name: "places in JSON",
    most: 1_048_576,
    pieces: JSON_PIECES,
    worst: ["1,", '{"a":[1]},'],
    read: (text) => placesIn(`[${text}1]`, ["/1", "/7/a/0", "/x"]),
  },
  {
    name: "JSON5",
    most: 262_144 - 8,
    pieces: JSON5_PIECES,
    worst: ["1,", "'\\u0061',", "/*é*/", "//\n", "\u2003", "{a:1},", "'\\\n',"],
    // A character that is not Latin-1: the text has two bytes for each, which searches are slower in.
    read: refusing((text) => parseScript(`["ж",${text}]`, "script", "", "json5")),
  },
  {
    name: "a script in any notation",
    most: 1_048_576,
    pieces: JSON5_PIECES,
    worst: ["[1,],", '["AC_x"],'],
    read: refusing((text) => parseScript(`[${text}`, "script", "", "any")),
  },
  {
    name: "selections of 1,000 hosts",
    most: 300_000,
    pieces: ["host-1", "!host-2", "tag:lab", "!tag:x", "all", ",", " ", "ﬁ", "tag:rack-7"],
    worst: ["!tag:lab,", "host-7,", "!tag:rack-1,"],
    read: refusing((text) => selectHostsNow(HOSTS, `all,${text}all`)),
  },
  {
    name: "selections of ever new terms",
    most: 300_000,
    pieces: ["1", "x", ","],
    worst: ["1"],
    read: refusing(({ length }) => {
      const terms = Array.from({ length: Math.floor(length / 12) }, (_, nth) => `!tag:x-${nth}`);
      return selectHostsNow(HOSTS, ["all", ...terms].join());
    }),
  },
  {
    name: "address books in CSV",
    most: 262_144,
    pieces: ["a", ",", '"', '""', "\n", "\r\n", ";", " ", "lab"],
    worst: ["a,http://127.0.0.1:9,0123456789abcdef,lab\n", '"a""",', "\n", " "],
    read: refusing((text) => importHosts(`label,base_url,token,tags\n${text}`, [], "csv")),
  },
  {
    name: "signed notes",
    most: 262_144,
    pieces: ["a", "\n", "\n\n", "— ", " ", "AAAA", "+"],
    worst: ["— a AAAAAAAA\n", "\n\n", " "],
    read: refusing((text) => parseNote(`a\n\n${text}\n`)),
  },
  {
    name: "verifier keys",
    most: 262_144,
    pieces: ["a", "+", "0", "01234567", " ", "="],
    worst: ["+01234567", "a+", "+"],
    read: refusing((text) => parseVerifierKey(text)),
  },
  {
    name: "pins",
    most: 262_144,
    pieces: ["spki:", "sha256:", "a", "00", ":", "="],
    worst: ["00:", "a", "spki:"],
    read: (text) => parsePin(`sha256:${text}`),
  },
  {
    name: "certificates in DER",
    most: 262_144,
    pieces: ["0\u0000", "0\u0080", "\u0030\u0082\u0001\u0000", "\u00ff", "\u0002\u0001\u0000"],
    worst: ["0\u0080", "\u0030\u0083\u0001\u0000\u0000"],
    read(text) {
      try {
        return spkiPin(Buffer.from(text, "latin1"));
      } catch {
        return undefined;
      }
    },
  },
  {
    name: "references to variables",
    most: 1_048_576,
    pieces: ["${", "a", "}", ".b", "[0]", "['c", "']", "$", "{"],
    worst: ["${a.b[0]", "${", "$$", "${a}", "['"],
    read: (text) => referencesIn(`\${a${text}`),
  },
  {
    name: "texts for people",
    most: 1_048_576,
    pieces: ["a", "\u0000", "é", "\ud800", "\u001b[", "\n", " "],
    worst: ["\u001b[", "a", "\ud800"],
    read: (text) => printable(text),
  },
  {
    name: "queries",
    most: 12_000,
    pieces: ["types=a", "&", "a,", "%20", "%C3", "=", "x"],
    worst: ["types=a&", "a,", "x&"],
    read: refusing((text) => fromQuery(inputOf("/events"), new URLSearchParams(text))),
  },
  {
    name: "inputs with unknown fields",
    most: 524_288,
    pieces: ["a", "b", "\u0000", "é"],
    worst: ["a"],
    read: ({ length }) =>
      checkInput(
        inputOf("/jobs/add"),
        Object.fromEntries(Array.from({ length: Math.floor(length / 12) }, (_, nth) => [`n${nth}`, 0])),
      ),
  },
  {
    name: "calls of XML-RPC",
    most: 1_000_000,
    pieces: [
      "<value>",
      "</value>",
      "<i4>1</i4>",
      "<array><data>",
      "<struct><member><name>a</name>",
      "&lt;",
      "&#x41;",
      "<!--",
      "-->",
      "<![CDATA[",
      "]]>",
      "<?",
      "a",
      " ",
      "<",
    ],
    worst: ["<value/>", "<!---->", "<![CDATA[]]>", "&lt;", "<value><array><data>", "< ", "<!--", "a<?a?>"],
    read: refusing((text) =>
      parseMethodCall(
        `<methodCall><methodName>a</methodName><params><param><value><array><data>${text}</data></array></value></param></params></methodCall>`,
      ),
    ),
  },
  {
    name: "texts in calls of XML-RPC",
    most: 1_000_000,
    pieces: ["a", "&lt;", "&#65;", "&#x41;", "&", "<!--x-->", "<![CDATA[<]]>", "é", "\n"],
    worst: ["&lt;", "<!---->", "<![CDATA[a]]>", "&#x41;", "&"],
    read: refusing((text) =>
      parseMethodCall(
        `<methodCall><methodName>a</methodName><params><param><value>${text}</value></param></params></methodCall>`,
      ),
    ),
  },
  {
    name: "messages of a viewer (RFB)",
    most: 262_144,
    pieces: [
      "\u0000",
      "\u0002\u0000\u0000\u0001",
      "\u0004",
      "\u0006\u0000\u0000\u0000",
      "\u00f8",
      "\u00fb",
      "\u00ff",
    ],
    worst: [
      "\u0004\u0000\u0000\u0000\u0000\u0000\u0000a",
      "\u0002\u0000\u0000\u0001\u0000\u0000\u0000\u0000",
    ],
    read: refusing((text) => {
      let bytes = Buffer.from(text, "latin1");
      for (;;) {
        const cut = cutMessage(bytes);
        if ("more" in cut) return cut;
        bytes = bytes.subarray(cut.length);
      }
    }),
  },
  {
    name: "chunks of a PNG",
    most: 1_048_576,
    pieces: [
      "\u0000\u0000\u0000\u0000IDAT\u0000\u0000\u0000\u0000",
      "\u0000\u0000\u0000\u0000tEXt\u0000\u0000\u0000\u0000",
      "\u0000",
      "\u00ff",
    ],
    worst: ["\u0000\u0000\u0000\u0000IDAT\u0000\u0000\u0000\u0000", "\u0000"],
    read: refusing((text) =>
      decodePng(Buffer.concat([PNG, Buffer.from(text, "latin1")]), 1_000_000, "image"),
    ),
  },
];

/** `piece`, repeated to `size` characters. */
export const grown = (piece: string, size: number): string =>
  piece.repeat(Math.max(1, Math.floor(size / piece.length)));

/** Processor time of this thread that reading `text` takes, in milliseconds. */
export async function costOf({ read }: Parser, text: string): Promise<number> {
  const ms = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const began = ms();
  await read(text);
  return ms() - began;
}
