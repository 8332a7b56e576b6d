/**
 * A trace as one HTML file that shows itself: no server, no network, no script from elsewhere.
 *
 * The archive is in it in base 85: a quarter larger than it is, where base 64 would add a third. Anybody may have written a trace, so
 * the policy of the file allows its own script alone.
 */
import { browserModule } from "../../lib/browser-module";
import { once } from "../../lib/once";
import { unpack } from "../../lib/unpack";

/** Printable characters that mean nothing in HTML: 85 of them. */
const ALPHABET = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).filter(
  (letter) => !"\"$&'<>\\`{".includes(letter),
);

const parts = once(async () => {
  const script = await import("../../../dashboard/trace-file.js", { with: { type: "file" } });
  const style = await import("../../../dashboard/style.css", { with: { type: "file" } });
  return {
    // In an element of HTML, a script ends at the first such text.
    script: new TextDecoder()
      .decode(await browserModule(script.default).bytes())
      .replaceAll("</script", "<\\/script"),
    style: new TextDecoder().decode(unpack(style.default)),
  };
});

/** The file. @param title in words, as text. */
export async function tracePage(archive: Uint8Array, title: string): Promise<string> {
  const { script, style } = await parts();
  const digest = new Bun.CryptoHasher("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; img-src blob:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${Bun.escapeHTML(title)}</title>
<style>${style}</style>
</head>
<body>
<main class="exported">
<h1>${Bun.escapeHTML(title)}</h1>
<noscript>This page needs JavaScript: svc trace show prints the same.</noscript>
</main>
<script type="application/octet-stream" id="trace">${base85(archive)}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** The number of bytes, and the bytes: five letters for four of them, the last ones filled up with zeros. */
function base85(bytes: Uint8Array): string {
  const words = Math.ceil(bytes.length / 4);
  const letters = ALPHABET.map((letter) => letter.charCodeAt(0));
  const padded = Buffer.alloc(words * 4);
  padded.set(bytes);
  const text = Buffer.alloc(words * 5);
  for (let nth = 0; nth < words; nth++) {
    let word = padded.readUInt32BE(nth * 4);
    for (let place = 4; place >= 0; place--) {
      text[nth * 5 + place] = letters[word % 85] ?? 0;
      word = Math.floor(word / 85);
    }
  }
  return `${bytes.length} ${text.toString("latin1")}`;
}
