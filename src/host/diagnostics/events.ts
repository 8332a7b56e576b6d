import * as v from "valibot";
import { eventType } from "../../core/events";
import { FINDING } from "./check";

export const diagnosisChanged = eventType({
  name: "diagnosis.changed",
  summary:
    "A check of this host found something else than when it ran before; who runs the checks decides when",
  scope: "read",
  data: v.object({ name: v.string(), ...v.pick(FINDING, ["ok", "severity", "detail"]).entries }),
});

export const eventTypes = [diagnosisChanged];
