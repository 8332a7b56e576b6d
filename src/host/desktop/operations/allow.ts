/**
 * The one operation by which whoever sits at the screen is asked to let svc use the desktop, where the desktop wants that (KDE).
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { between, field, seconds } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { YESES } from "../backend";
import type { Uses } from "./input-operation";

/** How long a person has to answer, in seconds: by default, and at most. */
const [DEFAULT_S, MAX_S] = [120, 3_600];

const AT_THE_SCREEN = "whoever sits at the screen is asked: `svc desktop allow` there";

export const allowDesktop = operation({
  name: "desktop.allow",
  summary: "Ask whoever sits at the screen to let svc use the desktop, where it asks a person (KDE)",
  scope: "admin",
  changes: true,
  answeredBy: "server or here",
  leftOut: { http: AT_THE_SCREEN, script: AT_THE_SCREEN },
  input: v.strictObject({
    timeout: field(
      v.optional(seconds(between(1, MAX_S)), DEFAULT_S),
      "How long they have to answer, in seconds",
    ),
  }),
  /** `kept`: for good. `held`: for as long as the process that asked uses the desktop, since the portal keeps nothing. */
  output: v.object({ allowed: v.picklist(YESES) }),
  run: async (service: Uses, { timeout }, caller) => ({
    allowed: await (await service.desktop()).allow(timeout * 1_000, requesterOf(caller)),
  }),
});

export const operations = [allowDesktop];
