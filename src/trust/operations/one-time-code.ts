/**
 * How the dashboard of the server that runs here opens signed in.
 */
import { rmSync } from "node:fs";
import * as v from "valibot";
import { field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { conflict, forbidden } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { CODE_LIFE_S, type OneTimeCodes } from "../one-time-codes";
import { ownToken } from "../owner-token";

interface Uses {
  readonly configDir: string;
  oneTimeCodes(): Promise<OneTimeCodes>;
  runningServer(): { readonly url: string } | null;
}

const ON_HOST = "the owner of the host opens the page on the host itself";

export const makeOneTimeCode = operation({
  name: "dashboard.code",
  summary: "Make a one-time code, for which the dashboard gets the owner's token",
  scope: "admin",
  reveals: true,
  answeredBy: "server",
  leftOut: { http: ON_HOST, cli: "`svc dashboard` makes one", script: ON_HOST },
  input: NO_INPUT,
  output: v.object({ code: secret(v.string()), url: v.string(), expires_s: v.number() }),
  async run(service: Uses) {
    const running = service.runningServer();
    if (!running) throw conflict("no server runs in this process");
    const codes = await service.oneTimeCodes();
    return { code: codes.make(), url: `${running.url}/dashboard`, expires_s: CODE_LIFE_S };
  },
});

const useOneTimeCode = operation({
  name: "dashboard.sign_in",
  summary: "Exchange a one-time code of `svc dashboard` for the owner's token",
  scope: "any",
  // Anybody can send a wrong code, again and again: it leaves no row, and no trace.
  reveals: "announces",
  http: { method: "POST", path: "/sign-in", public: "signed" },
  leftOut: { cli: "the page does so", script: "the page does so" },
  input: v.strictObject({
    code: field(secret(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100))), "The one-time code"),
  }),
  output: v.object({ token: secret(v.string()) }),
  async run(service: Uses, { code }, caller) {
    const codes = await service.oneTimeCodes();
    const token = codes.take(code) ? ownToken(service.configDir) : undefined;
    if (token === undefined)
      throw forbidden("this code has been used, or is over: svc dashboard makes a new one");
    await caller.announce("dashboard.sign_in");
    rmSync(configFiles(service.configDir).codePage, { force: true });
    return { token };
  },
});

export const operations = [makeOneTimeCode, useOneTimeCode];
