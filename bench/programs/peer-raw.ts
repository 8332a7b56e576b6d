/**
 * The baseline of `bench/sync.ts`: what the WebRTC library moves between two processes when nobody reads a file, hashes it
 * or writes it. Sends `argv[2]` bytes from this process to a child and prints the megabytes a second.
 */
import { type DescriptionType, PeerConnection } from "node-datachannel";

const MESSAGE = Buffer.alloc(16_384, 7);
const HIGH = 1_048_576;

const total = Number(process.argv[2]);
const receives = process.argv[3] === "receive";
// The library's callbacks do not keep the process alive.
setInterval(() => {}, 1_000);
const peer = new PeerConnection("raw", { iceServers: [], disableAutoNegotiation: true });

type Description = { readonly sdp: string; readonly type: DescriptionType };

function described(type: DescriptionType): Promise<Description> {
  return new Promise((resolve) => {
    peer.onGatheringStateChange((state) => {
      const description = peer.localDescription();
      if (state === "complete" && description) resolve(description);
    });
    peer.setLocalDescription(type);
  });
}

if (receives) {
  let received = 0;
  peer.onDataChannel((channel) => {
    channel.onMessage((message) => {
      if (typeof message === "string") return;
      received += message.byteLength;
      if (received >= total) channel.sendMessage("done");
    });
  });
  process.on("message", async ({ sdp, type }: Description) => {
    peer.setRemoteDescription(sdp, type);
    process.send?.(await described("answer"));
  });
} else {
  const answered = Promise.withResolvers<Description>();
  const child = Bun.spawn([process.execPath, ...process.argv.slice(1, 3), "receive"], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (answer: Description) => answered.resolve(answer),
  });
  const channel = peer.createDataChannel("raw");
  const [opened, done, low] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), { wake() {} }];
  channel.onOpen(() => opened.resolve());
  channel.onMessage(() => done.resolve());
  channel.setBufferedAmountLowThreshold(HIGH / 2);
  channel.onBufferedAmountLow(() => low.wake());
  child.send(await described("offer"));
  const { sdp, type } = await answered.promise;
  peer.setRemoteDescription(sdp, type);
  await opened.promise;
  const began = performance.now();
  for (let sent = 0; sent < total; sent += MESSAGE.length) {
    channel.sendMessageBinary(MESSAGE);
    if (channel.bufferedAmount() <= HIGH) continue;
    await new Promise<void>((resolve) => {
      low.wake = resolve;
      if (channel.bufferedAmount() <= HIGH / 2) resolve();
    });
  }
  await done.promise;
  console.log(total / 1e3 / (performance.now() - began));
  child.kill("SIGKILL");
  process.exit();
}
