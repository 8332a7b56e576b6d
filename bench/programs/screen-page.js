/** The page of the bench of the live screen: noVNC, and what a person would see of it. */
import RFB from "@novnc/novnc";

/** Where the stage (`screen-stage.ts`) draws: the number of a picture, the colour of the last key, the text. */
const CODE = { x: 1_000, y: 104, bits: 16, block: 8 };
const KEY = { x: 130, y: 830 };
const TEXT = { x: 100, y: 60, width: 8, height: 400 };

let rfb;
const context = () => document.querySelector("#screen canvas").getContext("2d");
const keyColour = () => context().getImageData(KEY.x, KEY.y, 1, 1).data[0];

window.connect = (url, protocols) =>
  new Promise((resolve, reject) => {
    rfb?.disconnect();
    document.getElementById("screen").replaceChildren();
    rfb = new RFB(document.getElementById("screen"), url, { shared: true, wsProtocols: protocols });
    rfb.addEventListener("connect", () => resolve());
    rfb.addEventListener("disconnect", () => reject(new Error(`no connection to ${url}`)));
  });

window.disconnect = () => {
  rfb?.disconnect();
  rfb = undefined;
};

function code() {
  const { data } = context().getImageData(CODE.x, CODE.y, CODE.bits * CODE.block, 1);
  let value = 0;
  for (let bit = 0; bit < CODE.bits; bit++) if (data[(bit * CODE.block + 4) * 4] > 127) value |= 1 << bit;
  return value;
}

function text() {
  const { data } = context().getImageData(TEXT.x, TEXT.y, TEXT.width, TEXT.height);
  let hash = 0;
  for (let at = 0; at < data.length; at += 4) hash = (Math.imul(hash, 31) + data[at] + data[at + 1]) | 0;
  return hash;
}

/** How many different pictures the canvas shows within `ms`: by the numbers in them, or by the text. */
window.frames = (what, ms) =>
  new Promise((resolve) => {
    const seen = new Set();
    let last;
    let changes = 0;
    const started = performance.now();
    const look = () => {
      const value = what === "text" ? text() : code();
      if (value !== last) changes++;
      last = value;
      seen.add(value);
      if (performance.now() - started < ms) requestAnimationFrame(look);
      else
        resolve({
          frames: what === "text" ? changes : seen.size,
          seconds: (performance.now() - started) / 1_000,
        });
    };
    requestAnimationFrame(look);
  });

/** The milliseconds from each of `count` keys until the canvas shows it; 2,000 for one that it does not. */
window.keys = async (count) => {
  const { port1, port2 } = new MessageChannel();
  const turn = () =>
    new Promise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(0);
    });
  const times = [];
  for (let nth = 0; nth < count; nth++) {
    const before = keyColour();
    const started = performance.now();
    rfb.sendKey(0x61, "KeyA", true);
    rfb.sendKey(0x61, "KeyA", false);
    while (performance.now() - started < 2_000 && Math.abs(keyColour() - before) < 100) await turn();
    times.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 60 + Math.random() * 60));
  }
  return times;
};
window.isReady = true;
