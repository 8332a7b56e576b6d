/**
 * What the display servers of desktops have in common: how they are started, and how they say that they are there.
 */
import { deadline, resolvesWithin } from "../../lib/deadline";
import { cancelled, unavailable } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Account } from "./account";

/** How long each program has until it is there, in milliseconds. */
const START_MS = 10_000;

/** Starts a program of a desktop. */
export type Start = (command: readonly string[], env: NodeJS.ProcessEnv) => Program;

/** A program of a desktop. */
export interface Program {
  readonly stdout: ReadableStream<Uint8Array>;
  readonly complaints: Complaints;
  readonly exited: Promise<number>;
}

/** What a display server is started with. */
export interface Stage {
  readonly size: string;
  readonly scale: number;
  /** The folder of the display. */
  readonly folder: string;
  readonly account: Account | undefined;
  /** The environment of its programs, but for what names the display. */
  readonly env: NodeJS.ProcessEnv;
  readonly start: Start;
  readonly signal: AbortSignal;
}

/** A program without which a desktop does not work. */
export interface Part {
  readonly program: string;
  readonly child: Pick<Program, "exited">;
  /** Whether it may end by itself, as one does that goes to the background, or that a person has asked to. */
  readonly mayLeave?: boolean;
}

/** How long after another program the display server may be found to have ended, in milliseconds: without it, the others end too. */
const SERVER_MS = 250;

/** Resolves when one of the programs has ended: without a window manager or a bus, much of a desktop does not work, and nobody sees why. */
export async function endOf(server: Part, ...others: readonly Part[]): Promise<string> {
  const ended = async ({ program, child, mayLeave = false }: Part) => {
    const code = await child.exited;
    return mayLeave && code === 0 ? new Promise<never>(() => {}) : `${program} has ended`;
  };
  const ofServer = ended(server);
  const why = await Promise.race([ofServer, ...others.map(ended)]);
  return deadline(ofServer, { ms: SERVER_MS, late: () => why });
}

/** A display server that is there. */
export interface StartedDisplay {
  readonly server: Program;
  readonly program: string;
  readonly name: string;
  /** Of the programs on it. */
  readonly env: NodeJS.ProcessEnv;
  /** Starts what else there is, beside the bus. */
  rest(): Promise<readonly Part[]>;
}

/** The first line that a program prints. @throws `unavailable` when the program ends or stays silent. */
export async function firstLine(
  program: string,
  { stdout, complaints }: Pick<Program, "stdout" | "complaints">,
  signal: AbortSignal,
): Promise<string> {
  const reader = stdout.getReader();
  const read = async () => {
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw unavailable(`${program} ended before it was there${await complaints.last()}`);
      text += new TextDecoder().decode(value);
    }
    return text.trim();
  };
  try {
    return await deadline(read(), {
      ms: START_MS,
      late: () => unavailable(`${program} was not there after ${START_MS / 1_000} s${complaints.now()}`),
      signal,
      aborted: () => cancelled("cancelled while the desktop started"),
    });
  } finally {
    // Nobody reads what it says later, and a full pipe would stop it.
    void drain(reader);
  }
}

/** Reads what a program prints that nobody waits for. */
export const ignore = ({ stdout }: Pick<Program, "stdout">): void => void drain(stdout.getReader());

/** The most that is kept of what a program complains of, and quoted, in characters. */
const COMPLAINTS = 2_000;
const QUOTED = 300;

/** How long a program that has ended may have its complaints on the way, in milliseconds: what it has started may hold the pipe. */
const COMPLAINTS_MS = 200;

/** The last line that a program has written to its standard error, as the end of a message; empty where there is none. */
export interface Complaints {
  now(): string;
  /** Of one that has ended. */
  last(): Promise<string>;
}

/** Reads what a program writes to its standard error, for good: a full pipe would stop it. */
export function listenTo(stderr: ReadableStream<Uint8Array>): Complaints {
  let text = "";
  const read = async () => {
    const reader = stderr.getReader();
    const decoder = new TextDecoder();
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        text = (text + decoder.decode(piece.value, { stream: true })).slice(-COMPLAINTS);
    } catch {
      // It has gone.
    }
  };
  const all = read();
  const now = () => {
    const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
    return line === "" ? "" : `: ${printable(line, QUOTED)}`;
  };
  return {
    now,
    last: async () => {
      await resolvesWithin(COMPLAINTS_MS, all);
      return now();
    },
  };
}

async function drain(reader: { read(): Promise<{ readonly done: boolean }> }): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // It has gone.
  }
}
