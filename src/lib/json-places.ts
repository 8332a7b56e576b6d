/**
 * Where the values of a JSON text are, and where a text stops being JSON (RFC 8259). `JSON.parse` says neither. The same for
 * JSON5 (spec.json5.org), which refuses a name that an object has twice, and numbers that JSON does not have.
 */

/** A place in a text, counted from 1; columns in UTF-16 units, as editors count them. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Deeper values have the place of what they are in: each level takes some of the stack. */
const MAX_DEPTH = 500;

/** A JSON Pointer (RFC 6901). */
export function pointerTo(keys: ReadonlyArray<string | number>): string {
  return keys.map((key) => `/${`${key}`.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** What a text is. */
export type Notation = "json" | "json5";

const scannerOf = (text: string, wanted: ReadonlySet<string>, notation: Notation) =>
  notation === "json" ? new Scanner(text, wanted) : new Json5Scanner(text, wanted);

/** The places of the values at `pointers` in `text`, which is in this notation; of what is not there, the place of what it would be in. */
export function placesIn(
  text: string,
  pointers: readonly string[],
  notation: Notation = "json",
): TextPlace[] {
  const { places } = scannerOf(text, new Set(pointers.flatMap(withParents)), notation).scan();
  return pointers.map((pointer) => {
    const found = withParents(pointer).findLast((one) => places.has(one)) ?? "";
    return places.get(found) ?? { line: 1, column: 1 };
  });
}

/** A place at which a text is not what it should be, and what would be right there. */
export interface TextFault extends TextPlace {
  readonly expected: string;
}

/** The first place at which `text` is not JSON, and what JSON has there; undefined when it is JSON, or too deep to say. */
export function faultIn(text: string, notation: Notation = "json"): TextFault | undefined {
  return scannerOf(text, new Set(), notation).scan().fault;
}

/** The pointer and those of all that it is in, the outermost (``) first. */
export const withParents = (pointer: string): string[] =>
  pointer.split("/").map((_, nth, keys) => keys.slice(0, nth + 1).join("/"));

class Fault {
  constructor(readonly expected: string) {}
}

class Scanner {
  private readonly places = new Map<string, TextPlace>();
  protected at = 0;
  protected line = 1;
  protected lineStart = 0;

  /** @param wanted the pointers whose places are kept, and those of all that they are in. */
  constructor(
    protected readonly text: string,
    private readonly wanted: ReadonlySet<string>,
  ) {}

  scan() {
    const { places } = this;
    try {
      this.value("", 0);
      if (this.next() !== "") throw new Fault("the end");
      return { places, fault: undefined };
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return { places, fault: fault.expected ? { ...this.here(), expected: fault.expected } : undefined };
    }
  }

  private here(): TextPlace {
    return { line: this.line, column: this.at - this.lineStart + 1 };
  }

  /** The next character that is no white space; empty at the end. */
  protected next(): string {
    for (; ; this.at++) {
      const character = this.text[this.at];
      if (character === "\n") [this.line, this.lineStart] = [this.line + 1, this.at + 1];
      else if (character !== " " && character !== "\t" && character !== "\r") return character ?? "";
    }
  }

  protected value(pointer: string | undefined, depth: number): void {
    if (depth > MAX_DEPTH) throw new Fault("");
    const first = this.next();
    if (pointer !== undefined) this.places.set(pointer, this.here());
    if (first === "[") this.members("]", (nth) => this.value(this.inside(pointer, nth), depth + 1));
    else if (first === "{") this.object(pointer, depth);
    else this.scalar(first);
  }

  protected scalar(first: string): void {
    if (first === '"') this.string();
    else this.take(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y, "a value");
  }

  protected object(pointer: string | undefined, depth: number): void {
    this.members("}", () => this.field(pointer, depth));
  }

  protected members(close: "]" | "}", member: (nth: number) => void): void {
    this.at++;
    if (this.next() === close) {
      this.at++;
      return;
    }
    for (let nth = 0; ; nth++) {
      member(nth);
      const found = this.next();
      if (found !== "," && found !== close) throw new Fault(`, or ${close}`);
      this.at++;
      if (found === close || this.closes(close)) return;
    }
  }

  /** Whether a list or an object ends here, after a comma. */
  protected closes(_close: string): boolean {
    return false;
  }

  /** A name, which is read only where it is `needed`. */
  protected name(needed: boolean): string {
    if (this.next() !== '"') throw new Fault("a name in double quotes");
    const from = this.at;
    this.string();
    return needed ? JSON.parse(this.text.slice(from, this.at)) : "";
  }

  protected field(pointer: string | undefined, depth: number, name = this.name(pointer !== undefined)): void {
    if (this.next() !== ":") throw new Fault(":");
    this.at++;
    this.value(this.inside(pointer, name), depth + 1);
  }

  /** In pieces: one pattern for all of a long text would need a stack as long. */
  protected string(): void {
    for (this.at++; ; ) {
      this.take(/[^"\\\u0000-\u001f]*/y, "");
      if (this.text[this.at] === '"') break;
      if (this.text[this.at] !== "\\") throw new Fault('" at the end of the text');
      this.take(/\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y, "an escape such as \\n");
    }
    this.at++;
  }

  protected take(pattern: RegExp, expected: string): void {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) throw new Fault(expected);
    this.at = pattern.lastIndex;
  }

  protected inside(pointer: string | undefined, key: string | number): string | undefined {
    const inner = pointer === undefined ? undefined : pointer + pointerTo([key]);
    return inner !== undefined && this.wanted.has(inner) ? inner : undefined;
  }
}

class Json5Scanner extends Scanner {
  protected override next(): string {
    for (;;) {
      this.skip(/[\s\ufeff]*/y);
      if (this.text.startsWith("//", this.at)) this.skip(/[^\n\r\u2028\u2029]*/y);
      else if (this.text.startsWith("/*", this.at)) this.comment();
      else return this.text[this.at] ?? "";
    }
  }

  private comment(): void {
    const end = this.text.indexOf("*/", this.at + 2);
    if (end < 0) throw new Fault("*/ at the end of the comment");
    this.pass(end + 2);
  }

  private skip(pattern: RegExp): void {
    pattern.lastIndex = this.at;
    pattern.test(this.text);
    this.pass(Math.max(pattern.lastIndex, this.at));
  }

  /** Goes on at `end`, and counts the lines up to there. */
  private pass(end: number): void {
    for (
      let at = this.text.indexOf("\n", this.at);
      at >= 0 && at < end;
      at = this.text.indexOf("\n", at + 1)
    ) {
      this.line++;
      this.lineStart = at + 1;
    }
    this.at = end;
  }

  protected override scalar(first: string): void {
    if (first === '"' || first === "'") this.string();
    else if (/[-+\d.IN]/.test(first)) this.number();
    else this.take(/true|false|null/y, "a value");
  }

  private number(): void {
    this.take(
      /[-+]?(?:0[xX][\da-fA-F]+|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w$.])/y,
      "a value that JSON has too",
    );
  }

  protected override object(pointer: string | undefined, depth: number): void {
    const names = new Set<string>();
    this.members("}", () => {
      this.next();
      const before = { at: this.at, line: this.line, lineStart: this.lineStart };
      const name = this.name();
      if (names.has(name)) {
        Object.assign(this, before);
        throw new Fault("a name that the object does not have yet");
      }
      names.add(name);
      this.field(pointer, depth, name);
    });
  }

  protected override closes(close: string): boolean {
    if (this.next() !== close) return false;
    this.at++;
    return true;
  }

  protected override name(): string {
    const from = this.at;
    if (/["']/.test(this.next())) this.string();
    else {
      const identifier =
        /(?:[$_\p{ID_Start}]|\\u[\da-fA-F]{4})(?:[$\p{ID_Continue}]|\u200c|\u200d|\\u[\da-fA-F]{4})*/uy;
      this.take(identifier, "a name");
    }
    const written = this.text.slice(from, this.at);
    return /["'\\]/.test(written) ? named(written) : written;
  }

  protected override string(): void {
    const quote = this.text[this.at] ?? "";
    const plain = quote === "'" ? /[^'\\\n\r]*/y : /[^"\\\n\r]*/y;
    for (this.at++; ; ) {
      this.take(plain, "");
      if (this.text[this.at] === quote) break;
      if (this.text[this.at] !== "\\") throw new Fault(`${quote} at the end of the text`);
      const from = this.at;
      this.take(/\\(?:\r\n|x[\da-fA-F]{2}|u[\da-fA-F]{4}|0(?!\d)|[^xu\d])/sy, "an escape such as \\n");
      const end = this.at;
      this.at = from;
      this.pass(end);
    }
    this.at++;
  }
}

/** The name that is written so. */
const named = (written: string): string => Object.keys(Bun.JSON5.parse(`{${written}:0}`) ?? {})[0] ?? written;
