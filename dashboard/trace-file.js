/**
 * The script of the file that `svc trace export` writes: it shows the trace that is in the file.
 */
import { createViewer } from "./host/trace-viewer.js";

/** As `ALPHABET` of `src/host/trace/page.ts`. */
const EXCLUDED = "\"$&'<>\\`{";

const viewer = createViewer(new AbortController().signal, { closes: false });
document.querySelector("main")?.append(viewer.root);
void viewer.show(new Blob([decoded(document.querySelector("#trace")?.textContent ?? "")])).catch((error) => {
  document
    .querySelector("main")
    ?.append(`This file is damaged: ${error instanceof Error ? error.message : error}`);
});

/**
 * The bytes of a text in base 85.
 *
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
function decoded(text) {
  const values = new Uint8Array(128);
  for (let code = 33, value = 0; code < 127; code++) {
    if (!EXCLUDED.includes(String.fromCharCode(code))) values[code] = value++;
  }
  const [length = "0", body = ""] = text.trim().split(" ");
  const bytes = new Uint8Array(Math.ceil(body.length / 5) * 4);
  const view = new DataView(bytes.buffer);
  for (let from = 0, to = 0; from < body.length; from += 5, to += 4) {
    let word = 0;
    for (let nth = 0; nth < 5; nth++) word = word * 85 + (values[body.charCodeAt(from + nth)] ?? 0);
    view.setUint32(to, word);
  }
  return bytes.slice(0, Number(length));
}
