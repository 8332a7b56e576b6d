/**
 * A client of the API of svc: what may be asked, and what is answered, is in `api.ts`, which `npm run clients` has written.
 *
 *     const svc = createSvcClient({ url: "https://lab-07:9939", token });
 *     const { jobs } = await answerOf(svc.GET("/jobs"));
 */
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./api";

/** What svc says against a request. */
export class SvcError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** Where the documentation says more: T42 is `svc help T42`; undefined where it does not. */
  readonly help: string | undefined;
  /** After how many seconds to ask again, where the server says so (429). */
  readonly retryAfter: number | undefined;

  constructor(message: string, status: number, help?: string, retryAfter?: number) {
    super(message);
    this.name = "SvcError";
    this.status = status;
    this.help = help;
    this.retryAfter = retryAfter;
  }
}

/** A server of svc. */
export type SvcClient = Client<paths>;

/**
 * @param of.url of the server: `https://lab-07:9939`, with the path of a proxy where there is one.
 * @param of.token a token of the server, as `svc token add` prints it.
 * @param of.fetch in place of the usual one, for example one that trusts a certificate.
 */
export function createSvcClient(of: {
  readonly url: string;
  readonly token: string;
  readonly fetch?: (request: Request) => Promise<Response>;
}): SvcClient {
  return createClient<paths>({
    baseUrl: of.url.replace(/\/+$/, ""),
    headers: { authorization: `Bearer ${of.token}` },
    // No token goes to where an answer points.
    redirect: "manual",
    ...(of.fetch && { fetch: of.fetch }),
  });
}

/** The answer to a request. @throws {@link SvcError} where the server refuses or fails; what `fetch` throws where there is no answer. */
export async function answerOf<T>(
  asked: Promise<{ readonly data?: T; readonly error?: unknown; readonly response: Response }>,
): Promise<T> {
  const { data, error, response } = await asked;
  if (response.ok && data !== undefined) return data;
  const { error: message, help }: { error?: unknown; help?: unknown } = Object(error);
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  throw new SvcError(
    typeof message === "string" ? message : `HTTP ${response.status}`,
    response.status,
    typeof help === "string" ? help : undefined,
    Number.isNaN(after) ? undefined : after,
  );
}
