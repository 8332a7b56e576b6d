/** Bytes of WebAuthn as texts. */
import * as v from "valibot";

/** Bytes in base64url without padding (RFC 4648 section 5). */
export const bytesText = (most: number) =>
  v.pipe(v.string(), v.maxLength(most), v.regex(/^[A-Za-z0-9_-]+$/, "base64url"));

/** The id of a credential has at most 1,023 bytes (WebAuthn section 5.8.3). */
export const CREDENTIAL_ID = bytesText(1_364);
