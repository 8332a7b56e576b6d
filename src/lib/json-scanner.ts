/**
 * Scanners of JSON and JSON5: a token at a time, without a stack of calls, so that they can stop and go on between any two.
 */

import { DEPTH_BOUND, MAX_JSON_DEPTH } from "./json-bounds";

/** A place in a text, counted from 1; columns in UTF-16 units, as editors count them. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** The values whose places are wanted, by their keys from the root on. The scanner fills in their places. */
export interface PlaceTree {
  place?: TextPlace;
  readonly inner: Map<string, PlaceTree>;
}

/** Where a text is not what it should be. */
export class Fault {
  place: TextPlace = { line: 1, column: 1 };

  /** @param expected what would be right there. */
  constructor(readonly expected: string) {}
}

/** Tokens between two looks at the clock: less than a millisecond, unless they are long. */
const TOKENS_AT_ONCE = 1_000;

/** A list or an object that has begun. */
interface Level {
  readonly close: "]" | "}";
  readonly wanted: PlaceTree | undefined;
  /** Members that have begun. */
  count: number;
  /** The names that it has so far, where none may come twice. */
  readonly names: Set<string> | undefined;
}

/** What comes next: a value, a member of the innermost level, or what follows a value. */
type Next = "value" | "member" | "rest";

/** Scans JSON. */
export class JsonScanner {
  /** Set once the text is at fault. */
  fault: Fault | undefined;
  protected at = 0;
  protected line = 1;
  protected lineStart = 0;
  private readonly levels: Level[] = [];
  private state: Next = "value";

  /** @param root the values whose places are wanted. */
  constructor(
    protected readonly text: string,
    private readonly root: PlaceTree | undefined,
  ) {}

  /** Scans some tokens. @returns whether the end or a fault is reached. */
  goOn(): boolean {
    try {
      for (let tokens = TOKENS_AT_ONCE; tokens > 0; tokens--) if (this.token()) return true;
      return false;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      fault.place = this.here();
      this.fault = fault;
      return true;
    }
  }

  private token(): boolean {
    const level = this.levels.at(-1);
    if (this.state === "value") this.value(this.root);
    else if (this.state === "member" && level) this.member(level);
    else if (level) this.rest(level);
    else if (this.next() !== "") throw new Fault("the end");
    else return true;
    return false;
  }

  private here(): TextPlace {
    return { line: this.line, column: this.at - this.lineStart + 1 };
  }

  private value(wanted: PlaceTree | undefined): void {
    const first = this.next();
    if (wanted) wanted.place = this.here();
    this.state = "rest";
    if (first !== "[" && first !== "{") {
      this.scalar(first);
      return;
    }
    if (this.levels.length >= MAX_JSON_DEPTH) throw new Fault(DEPTH_BOUND);
    const close = first === "[" ? "]" : "}";
    this.at++;
    if (this.next() === close) this.at++;
    else {
      this.levels.push({ close, wanted, count: 0, names: first === "{" ? this.namesOfObject() : undefined });
      this.state = "member";
    }
  }

  private member(level: Level): void {
    if (level.close === "]") {
      this.value(level.wanted?.inner.get(`${level.count++}`));
      return;
    }
    const name = this.field(level);
    if (this.next() !== ":") throw new Fault(":");
    this.at++;
    this.value(level.wanted?.inner.get(name));
  }

  /** The name of a field; where it comes twice in its object, that is the fault. */
  private field({ wanted, names }: Level): string {
    this.next();
    const { at, line, lineStart } = this;
    const name = this.name(wanted !== undefined || names !== undefined);
    if (names?.has(name)) {
      Object.assign(this, { at, line, lineStart });
      throw new Fault("a name that the object does not have yet");
    }
    names?.add(name);
    return name;
  }

  private rest({ close }: Level): void {
    const found = this.next();
    if (found !== "," && found !== close) throw new Fault(`, or ${close}`);
    this.at++;
    this.state = "member";
    if (found === close || this.closes(close)) {
      this.levels.pop();
      this.state = "rest";
    }
  }

  /** What keeps the names of an object; undefined where one may come twice. */
  protected namesOfObject(): Set<string> | undefined {
    return undefined;
  }

  /** Whether a list or an object ends here, after a comma. */
  protected closes(_close: string): boolean {
    return false;
  }

  /** The next character that is no white space; empty at the end. */
  protected next(): string {
    for (; ; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === LINE_FEED) this.lineEnds();
      else if (code !== SPACE && code !== TAB && code !== RETURN) return this.text[this.at] ?? "";
    }
  }

  /** Notes that the line ends with the character at hand. */
  protected lineEnds(): void {
    this.line++;
    this.lineStart = this.at + 1;
  }

  protected scalar(first: string): void {
    if (first === '"') this.string();
    else this.take(JSON_SCALAR, "a value");
  }

  /** A name, which is read only where it is `needed`. */
  protected name(needed: boolean): string {
    if (this.next() !== '"') throw new Fault("a name in double quotes");
    const from = this.at;
    this.string();
    return needed ? JSON.parse(this.text.slice(from, this.at)) : "";
  }

  /** A pattern for all of a long text would need a stack as long. */
  protected string(): void {
    for (this.at++; ; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) break;
      // NaN at the end.
      if (!(code >= SPACE)) throw new Fault('" at the end of the text');
      if (code !== BACKSLASH) continue;
      if ('"\\/bfnrt'.includes(this.text[this.at + 1] ?? "-")) this.at++;
      else {
        this.take(UNICODE_ESCAPE, "an escape such as \\n");
        this.at--;
      }
    }
    this.at++;
  }

  protected take(pattern: RegExp, expected: string): void {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) throw new Fault(expected);
    this.at = pattern.lastIndex;
  }
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const STAR = 0x2a;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;

const JSON_SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const UNICODE_ESCAPE = /\\u[\da-fA-F]{4}/y;

/** Scans JSON5. */
export class Json5Scanner extends JsonScanner {
  protected override namesOfObject(): Set<string> {
    return new Set();
  }

  protected override next(): string {
    for (; ; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === LINE_FEED) this.lineEnds();
      else if (code === SLASH && this.text.charCodeAt(this.at + 1) === SLASH) this.lineComment();
      else if (code === SLASH && this.text.charCodeAt(this.at + 1) === STAR) this.comment();
      else if (!isSpace(code)) return this.text[this.at] ?? "";
    }
  }

  /** Up to the last character of the line. */
  private lineComment(): void {
    while (this.at + 1 < this.text.length && !isLineEnd(this.text.charCodeAt(this.at + 1))) this.at++;
  }

  /** Up to the last character of the comment. */
  private comment(): void {
    const end = this.text.indexOf("*/", this.at + 2);
    if (end < 0) throw new Fault("*/ at the end of the comment");
    for (; this.at < end + 1; this.at++) if (this.text.charCodeAt(this.at) === LINE_FEED) this.lineEnds();
  }

  protected override scalar(first: string): void {
    if (first === '"' || first === "'") this.string();
    else if (/[-+\d.IN]/.test(first)) this.take(JSON5_NUMBER, "a value that JSON has too");
    else this.take(/true|false|null/y, "a value");
  }

  protected override closes(close: string): boolean {
    if (this.next() !== close) return false;
    this.at++;
    return true;
  }

  protected override name(): string {
    const from = this.at;
    const isQuoted = /["']/.test(this.next());
    if (isQuoted) this.string();
    else this.take(JSON5_IDENTIFIER, "a name");
    const written = this.text.slice(from, this.at);
    if (written.includes("\\")) return named(written);
    return isQuoted ? written.slice(1, -1) : written;
  }

  protected override string(): void {
    const quote = this.text[this.at] ?? "";
    const end = quote.charCodeAt(0);
    for (this.at++; ; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === end) break;
      if (Number.isNaN(code) || code === LINE_FEED || code === RETURN)
        throw new Fault(`${quote} at the end of the text`);
      if (code === BACKSLASH) this.escape();
    }
    this.at++;
  }

  /** Up to the last character of the escape. */
  private escape(): void {
    const from = this.at;
    this.take(JSON5_ESCAPE, "an escape such as \\n");
    this.at--;
    if (this.at > from && this.text.charCodeAt(this.at) === LINE_FEED) this.lineEnds();
  }
}

const JSON5_NUMBER =
  /[-+]?(?:0[xX][\da-fA-F]+|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w$.])/y;
const JSON5_IDENTIFIER =
  /(?:[$_\p{ID_Start}]|\\u[\da-fA-F]{4})(?:[$\p{ID_Continue}]|\u200c|\u200d|\\u[\da-fA-F]{4})*/uy;
const JSON5_ESCAPE = /\\(?:\r\n|x[\da-fA-F]{2}|u[\da-fA-F]{4}|0(?!\d)|[^xu\d])/sy;

const isLineEnd = (code: number) =>
  code === LINE_FEED || code === RETURN || code === 0x2028 || code === 0x2029;

/** Whether it is white space of JSON5, that of Unicode and U+FEFF included. */
const isSpace = (code: number) =>
  code === SPACE || (code >= TAB && code <= RETURN) || (code > 0x7f && /\s/.test(String.fromCharCode(code)));

/** The name that is written so. */
const named = (written: string): string => Object.keys(Bun.JSON5.parse(`{${written}:0}`) ?? {})[0] ?? written;
