/** The live screen in Chromium over a data channel that goes through coturn alone. */
import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { browserTest, useBrowser } from "../browser";
import { startDisplay } from "../host/desktop/support";
import { serveBinary, until } from "../support";
import { startCoturn } from "./coturn";

const browser = useBrowser();

/** For the page: opens the data channel as that of the live screen does, and keeps what comes. */
const OPEN_CHANNEL = `async (token) => {
  const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
  const ice = await (await fetch("/screen/ice", { headers })).json();
  const peer = new RTCPeerConnection({
    iceServers: ice.ice_servers,
    iceTransportPolicy: ice.ice_transport_policy,
  });
  const channel = peer.createDataChannel("rfb");
  channel.binaryType = "arraybuffer";
  const seen = { text: "", local: "" };
  channel.onmessage = ({ data }) => {
    seen.text += new TextDecoder("latin1").decode(data);
  };
  await peer.setLocalDescription(await peer.createOffer());
  await new Promise((done) => {
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done();
    peer.onicegatheringstatechange();
  });
  const body = JSON.stringify({ type: "offer", sdp: peer.localDescription.sdp, control: false });
  const response = await fetch("/screen/offer", { method: "POST", headers, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  const opened = new Promise((open) => {
    channel.onopen = open;
  });
  await peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
  await opened;
  for (const stat of (await peer.getStats()).values())
    if (stat.type === "local-candidate") seen.local += stat.candidateType;
  window.seen = () => ({ ...seen, state: peer.connectionState });
}`;

browserTest("turnserver", "Xvfb")(
  "Chromium gets the screen through a relay alone, and sees that it is gone",
  async () => {
    await using coturn = await startCoturn();
    await using display = await startDisplay({ managed: false });
    await using server = await serveBinary([], { env: display.env });
    writeFileSync(join(server.configDir, "ice.json"), JSON.stringify(coturn.ice));
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.url}/dashboard`);
    await page.evaluate(`(${OPEN_CHANNEL})(${JSON.stringify(server.token)})`);
    const seen = () => page.evaluate<{ text: string; local: string; state: string }>("seen()");
    await until("the greeting", async () => (await seen()).text === "RFB 003.008\n");
    expect(await seen()).toMatchObject({ local: "relay", state: "connected" });
    expect(coturn.log.text()).toMatch(/ALLOCATE processed, success/);
    await coturn.stop();
    await until("the end", async () => (await seen()).state !== "connected");
    await context.close();
  },
);
