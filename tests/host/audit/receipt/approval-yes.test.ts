/** Who has allowed something with a passkey, by the rows of the log alone. */
import { expect, test } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import { verifyApproval } from "../../../../src/host/audit/receipt/operations";
import { verifyYes } from "../../../../src/trust/passkeys/yes";
import { testService } from "../../../support";
import { yesOf } from "./support";

const VIEWER = "0f9a4c1e-5b0d-4c55-9a0e-3f1c2e4a7b6d";
const DIGEST = "9f86d081884c7d659a2feaa0c55ad015";
const ANN = `oidc:ann~${DIGEST}`;

/** What the log says of control that was taken through a desk, by a person for whom it says that a passkey was registered. */
async function verified({ registered = ANN, viewer = VIEWER } = {}) {
  await using host = testService();
  const audit = await host.service.audit();
  const word = yesOf({
    ...{ host: "urn:svc:host:desk", holder: ANN, what: "admin.screen_control" },
    ...{ expires: new Date(Date.now() + 60_000).toISOString(), terms: { host: "lab", viewer, run: "wait" } },
  });
  const { credential, key } = verifyYes(word);
  const rows = [
    `POST /passkeys/add -> started passkeys.add id=${credential} holder=${JSON.stringify(registered)} rp_id=localhost key=${key} label="key" by=token token=${registered}/abcdefgh`,
    `POST /admin/hosts/lab/screen/control -> started admin.screen_control label="lab" viewer="${VIEWER}" action="take" run="wait" passkey=${word} token=${ANN}/ijklmnop`,
  ];
  for (const detail of rows)
    await audit?.append({ event_type: "rest_api", host_id: null, viewer_id: null, detail });
  return await callOperation(host.service, verifyApproval, { id: VIEWER }, localCaller(host.service, "api"));
}

test("control that was taken through a desk is found by the viewer", async () => {
  expect(await verified()).toMatchObject({
    ok: true,
    reason: null,
    what: "admin.screen_control",
    holder: ANN,
  });
});

test("what was signed for another viewer is none", async () => {
  const other = VIEWER.replace("0f", "1f");
  expect(await verified({ viewer: other })).toMatchObject({ ok: false, reason: "something else was signed" });
});

test("a person who is called otherwise than when the key was registered is the same", async () => {
  expect(await verified({ registered: `oidc:ann.smith~${DIGEST}` })).toMatchObject({ ok: true });
});

test("a key that was registered for somebody else of that name does not count", async () => {
  const other = `oidc:ann~${DIGEST.replace("9f", "8f")}`;
  expect(await verified({ registered: other })).toMatchObject({ ok: false, registered: null });
});
