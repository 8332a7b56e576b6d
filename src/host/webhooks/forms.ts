/**
 * The forms in which an event is posted: that of Standard Webhooks, or a CloudEvent in structured mode
 * (https://github.com/cloudevents/spec, 1.0). Both are signed in the same way.
 */

/** The forms, the usual first. */
export const FORMS = ["standard", "cloudevents"] as const;

type Form = (typeof FORMS)[number];

/** The media type of each. */
export const MEDIA_TYPES: Readonly<Record<Form, string>> = {
  standard: "application/json",
  cloudevents: "application/cloudevents+json; charset=utf-8",
};

interface PostedEvent {
  /** The same whenever it is posted. */
  readonly id: string;
  readonly type: string;
  /** When it happened, ISO 8601. */
  readonly at: string;
  /** Its data: JSON. */
  readonly text: string;
}

/** The fields of which the first that an event has says what it is about, as its CloudEvent has it (`subject`). */
const SUBJECTS = ["run_id", "job_id", "plan_id", "plan", "label", "host_id", "session_id", "id", "name"];

/** The body of an event. @param source what posts it, as a URI: with it, the id of a CloudEvent is unique in the world. */
export function bodyOf(form: Form, { id, type, at, text }: PostedEvent, source: string): string {
  if (form === "standard")
    return `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(at)},"data":${text}}`;
  const data = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const subject = SUBJECTS.map((name) => data[name]).find(
    (value) => typeof value === "string" && value !== "",
  );
  const attributes = {
    specversion: "1.0",
    id,
    source,
    type,
    time: at,
    ...(subject !== undefined && { subject }),
    datacontenttype: "application/json",
  };
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${text}}`;
}
