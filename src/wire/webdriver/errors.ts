/**
 * The errors of WebDriver (W3C WebDriver, section 6.6): the name that clients know, and the status of the answer.
 */
import { Failure, type FailureCode, failureOf } from "../../lib/errors";

/** The names of errors that svc answers with, and their HTTP status. */
const STATUS = {
  "invalid argument": 400,
  "invalid selector": 400,
  "element not interactable": 400,
  "no such alert": 404,
  "no such element": 404,
  "no such frame": 404,
  "no such window": 404,
  "no such shadow root": 404,
  "stale element reference": 404,
  "invalid session id": 404,
  "unknown command": 404,
  "unknown method": 405,
  timeout: 500,
  "javascript error": 500,
  "script timeout": 500,
  "session not created": 500,
  "unable to capture screen": 500,
  "unknown error": 500,
  "unsupported operation": 500,
} as const;

/** Every HTTP status of an answer. */
export const STATUSES = [200, 400, 404, 405, 500] as const;

type ErrorName = keyof typeof STATUS;

/** The code that svc has for each error that a command throws itself. */
const CODES: Partial<Record<ErrorName, FailureCode>> = {
  "invalid argument": "bad_input",
  "invalid selector": "bad_input",
  "element not interactable": "unavailable",
  timeout: "timeout",
  "script timeout": "timeout",
  "session not created": "rejected",
  "javascript error": "rejected",
  "unsupported operation": "rejected",
};

/** A failure that clients get under this name. */
export const failing = (error: ErrorName, message: string): Failure =>
  new Failure(CODES[error] ?? "not_found", message, { webdriver: error });

/** What a failure of svc is called where a command has not named it. */
const NAMES: Partial<Record<FailureCode, ErrorName>> = {
  bad_input: "invalid argument",
  not_found: "no such element",
  unavailable: "element not interactable",
  timeout: "timeout",
};

/** The status and body of an answer. */
export interface Answer {
  readonly status: (typeof STATUSES)[number];
  readonly value: unknown;
}

const isName = (name: unknown): name is ErrorName => typeof name === "string" && Object.hasOwn(STATUS, name);

/** The answer to a failure; undefined for anything else that was thrown, which is a bug. */
export function answerTo(thrown: unknown): Answer | undefined {
  const failure = failureOf(thrown);
  if (!failure) return undefined;
  const { webdriver } = failure.more;
  const error = isName(webdriver) ? webdriver : (NAMES[failure.code] ?? "unknown error");
  return { status: STATUS[error], value: { error, message: failure.message, stacktrace: "" } };
}

/** `work`, whose failures of this code get this name. */
export async function named<T>(code: FailureCode, error: ErrorName, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const failure = failureOf(thrown);
    throw failure?.code === code && !failure.more.webdriver ? failing(error, failure.message) : thrown;
  }
}
