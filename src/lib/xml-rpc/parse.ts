/**
 * Calls of XML-RPC (http://xmlrpc.com/spec.md) as they are read from outside.
 *
 * Promises. Time is linear in the length of the text. A document type is refused, so no entity is ever declared; values and levels are
 * bounded ({@link MOST}).
 */
import { badInput, type Failure } from "../errors";
import { printable } from "../sanitize";
import { stepsInSlices, stepsNow } from "../turn";

/** What one call may have. */
export const MOST = { values: 20_000, references: 50_000, depth: 64 } as const;

/** A method and its parameters: texts, numbers, true and false, null, lists and objects; base64 is a text of as many characters as bytes. */
export interface MethodCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** How many values are read at a time: a millisecond's work. */
const PIECE = 200;

/** @throws `bad_input` for anything else than one call. */
export function parseMethodCall(xml: string): MethodCall {
  return stepsNow(callIn(createReader(xml)));
}

/** {@link parseMethodCall} in slices of the event loop: a call of a megabyte has thousands of values. */
export async function parseInSlices(xml: string): Promise<MethodCall> {
  return stepsInSlices(callIn(createReader(xml)));
}

/** What is read, in pieces: it yields after each of {@link PIECE} values. */
type Reading<T> = Generator<undefined, T, undefined>;

function* callIn(reader: XmlReader): Reading<MethodCall> {
  reader.open("methodCall");
  reader.open("methodName");
  const method = reader.text().trim();
  reader.close("methodName");
  const params: unknown[] = [];
  if (reader.opens("params")) {
    while (reader.opens("param")) {
      params.push(yield* valueIn(reader, 1));
      reader.close("param");
    }
    reader.close("params");
  }
  reader.close("methodCall");
  reader.end();
  return { method, params };
}

/** The integers: `i1`, `i2` and `i8` are extensions that clients know. */
const INTEGER = /^(?:int|i1|i2|i4|i8)$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;

function* valueIn(reader: XmlReader, depth: number): Reading<unknown> {
  if (depth > MOST.depth) throw wrong(`at most ${MOST.depth} levels of values`);
  if (reader.countValue() % PIECE === 0) yield;
  reader.open("value");
  const text = reader.text();
  // A value without a type is a text.
  if (reader.closes("value")) return text;
  if (text.trim() !== "") throw wrong("a type in <value>, or a text alone");
  const type = reader.openAny();
  const value =
    type === "array"
      ? yield* listIn(reader, depth)
      : type === "struct"
        ? yield* structIn(reader, depth)
        : plainIn(reader, type);
  reader.close(type);
  reader.close("value");
  return value;
}

function plainIn(reader: XmlReader, type: string): unknown {
  const text = reader.text();
  const word = text.trim();
  if (type === "string") return text;
  if (type === "dateTime.iso8601") return word;
  if (type === "base64") return Buffer.from(word, "base64").toString("latin1");
  if (type === "nil" && word === "") return null;
  if (type === "boolean" && /^[01]$/.test(word)) return word === "1";
  const isWhole = INTEGER.test(type) && /^[+-]?\d{1,19}$/.test(word);
  const isNumber = type === "double" && word.length < 400 && NUMBER.test(word);
  if (isWhole || isNumber) return Number(word);
  throw wrong(`a value of XML-RPC, but found ${printable(JSON.stringify(word), 60)} in <${type}>`);
}

function* listIn(reader: XmlReader, depth: number): Reading<unknown[]> {
  const items: unknown[] = [];
  reader.open("data");
  while (reader.isNext("value")) items.push(yield* valueIn(reader, depth + 1));
  reader.close("data");
  return items;
}

function* structIn(reader: XmlReader, depth: number): Reading<Record<string, unknown>> {
  const members: Array<[string, unknown]> = [];
  while (reader.opens("member")) {
    reader.open("name");
    const name = reader.text();
    reader.close("name");
    members.push([name, yield* valueIn(reader, depth + 1)]);
    reader.close("member");
  }
  // A member named `__proto__` is a member.
  return Object.fromEntries(members);
}

/** Reads elements one after the other. White space between them means nothing. Each throws for what is not as expected. */
interface XmlReader {
  text(): string;
  isNext(name: string): boolean;
  /** Reads its beginning, or its end. @returns false where it is not there. */
  opens(name: string): boolean;
  closes(name: string): boolean;
  open(name: string): void;
  /** @returns the name of the element. */
  openAny(): string;
  close(name: string): void;
  /** Counts one more value of the document. @returns how many there are. */
  countValue(): number;
  end(): void;
}

/** A tag, by its place in the text; `empty` is `<nil/>`. */
interface Tag {
  readonly name: string;
  readonly kind: "open" | "close" | "empty";
  readonly next: number;
}

const TAG = /<(\/?)([A-Za-z][A-Za-z0-9.]{0,30})\s*(\/?)>/y;

function createReader(xml: string): XmlReader {
  let at = 0;
  let values = 0;
  let references = 0;
  const countReference = () => {
    if (++references > MOST.references) throw wrong(`at most ${MOST.references} references such as &lt;`);
  };
  /** Of `<name/>`, which is yet to be closed. */
  let emptied: string | undefined;

  /** What is no element and no text: `<?…?>` and `<!--…-->`. @returns false where there is none. */
  const skip = (): boolean => {
    const end = xml.startsWith("<?", at) ? "?>" : xml.startsWith("<!--", at) ? "-->" : undefined;
    if (end === undefined) return false;
    const found = xml.indexOf(end, at + 2);
    if (found < 0) throw wrong(`${end} before the end`);
    at = found + end.length;
    return true;
  };
  const tag = (): Tag | undefined => {
    TAG.lastIndex = at;
    const [, close, name, empty] = TAG.exec(xml) ?? [];
    if (name === undefined) return undefined;
    const kind = close ? "close" : empty ? "empty" : "open";
    return { name, kind, next: TAG.lastIndex };
  };
  const text = (): string => {
    if (emptied !== undefined) return "";
    const parts: string[] = [];
    for (;;) {
      if (xml.startsWith("<![CDATA[", at)) {
        const end = xml.indexOf("]]>", at);
        if (end < 0) throw wrong("]]> before the end");
        parts.push(xml.slice(at + 9, end));
        at = end + 3;
      } else if (xml.startsWith("<", at)) {
        if (!skip()) return parts.length === 1 ? (parts[0] ?? "") : parts.join("");
      } else {
        const end = xml.indexOf("<", at);
        const raw = xml.slice(at, end < 0 ? xml.length : end);
        parts.push(raw.includes("&") ? decoded(raw, countReference) : raw);
        at = end < 0 ? xml.length : end;
        if (end < 0) return parts.join("");
      }
    }
  };
  const white = () => {
    const found = text().trim();
    if (found !== "") throw wrong(`an element, but found ${printable(JSON.stringify(found), 60)}`);
  };
  const found = () => printable(JSON.stringify(xml.slice(at, at + 40)), 60);
  const take = (one: Tag) => {
    at = one.next;
    if (one.kind === "empty") emptied = one.name;
  };
  const isNext = (name: string): boolean => {
    white();
    const one = tag();
    return emptied === undefined && one?.name === name && one.kind !== "close";
  };
  const opens = (name: string): boolean => {
    if (!isNext(name)) return false;
    const one = tag();
    if (one) take(one);
    return true;
  };
  const closes = (name: string): boolean => {
    if (emptied !== undefined) {
      if (emptied !== name) return false;
      emptied = undefined;
      return true;
    }
    const one = tag();
    if (one?.kind !== "close" || one.name !== name) return false;
    at = one.next;
    return true;
  };
  return {
    text,
    isNext,
    opens,
    closes,
    open(name) {
      if (!opens(name)) throw wrong(`<${name}>, but found ${found()}`);
    },
    openAny() {
      const one = tag();
      if (!one || one.kind === "close") throw wrong(`a type of XML-RPC, but found ${found()}`);
      take(one);
      return one.name;
    },
    close(name) {
      if (emptied === undefined) white();
      if (!closes(name)) throw wrong(`</${name}>, but found ${found()}`);
    },
    countValue() {
      if (++values > MOST.values) throw wrong(`at most ${MOST.values} values`);
      return values;
    },
    end() {
      white();
      if (at < xml.length) throw wrong(`the end, but found ${found()}`);
    },
  };
}

const wrong = (expected: string): Failure => badInput(`body: expected ${expected}`);

const NAMED: ReadonlyMap<string, string> = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** The longest reference, in characters between & and ;. */
const LONGEST = 8;

/** `raw` with its references replaced. @throws `bad_input` for one that XML itself does not have. */
function decoded(raw: string, count: () => void): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = raw.indexOf("&"); at >= 0; at = raw.indexOf("&", from)) {
    count();
    let end = at + 1;
    while (end <= at + LONGEST && end < raw.length && raw.charCodeAt(end) !== SEMICOLON) end++;
    const reference = raw.slice(at + 1, end);
    const character = NAMED.get(reference) ?? characterOf(reference);
    if (character === undefined || raw.charCodeAt(end) !== SEMICOLON)
      throw wrong(`a reference of XML, but found ${printable(raw.slice(at, at + LONGEST), 20)}`);
    if (at > from) parts.push(raw.slice(from, at));
    parts.push(character);
    from = end + 1;
  }
  parts.push(raw.slice(from));
  return parts.join("");
}

const SEMICOLON = 0x3b;

/** The character of `#65` or `#x41`. */
function characterOf(reference: string): string | undefined {
  const [, hex, digits = ""] = /^#(x?)([0-9A-Fa-f]{1,7})$/.exec(reference) ?? [];
  const code = hex === "x" ? Number.parseInt(digits, 16) : Number(digits);
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}
