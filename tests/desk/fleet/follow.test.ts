/** The desk follows a host to its next key. */
import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { spkiPin } from "../../../src/lib/spki";
import { IDLE_SESSIONS, selfSigned } from "../../client/support";
import { TOKEN, temporaryFolder, testServer, testWith } from "../../support";

const folder = temporaryFolder();
const withOpenssl = testWith("openssl");
type Pair = { readonly cert: string; readonly key: string; readonly pin: string };
let old: Pair;
let next: Pair;
let third: Pair;
beforeAll(() => {
  if (Bun.which("openssl") === null) return;
  const pair = (name: string): Pair => {
    const { cert, key } = selfSigned(folder.path, name, "IP:127.0.0.1");
    const pem = readFileSync(cert, "utf8");
    return { cert: pem, key: readFileSync(key, "utf8"), pin: spkiPin(pem) };
  };
  [old, next, third] = [pair("old"), pair("next"), pair("third")];
});
afterAll(() => folder[Symbol.dispose]());

/** A host that announces `next_spki` with the key of `pair`, and a desk that has pinned the key `old`. */
async function deskAndHost() {
  const desk = await testServer();
  const book = await desk.service.addressBook();
  let status: () => Response = () => Response.json({ next_spki: null });
  const asked: string[] = [];
  const fetch = (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    if (pathname === "/sessions") return new Response(IDLE_SESSIONS);
    return pathname === "/status" ? status() : Response.json({ jobs: [] });
  };
  const serve = ({ cert, key }: Pair, port = 0) =>
    Bun.serve({ hostname: "127.0.0.1", port, tls: { cert, key }, fetch });
  let host = serve(old);
  const { port } = host;
  await book.add({
    label: "lab",
    base_url: `https://127.0.0.1:${port}`,
    token: TOKEN,
    tags: [],
    pin: old.pin,
  });
  return {
    desk,
    asked,
    pins: () => [book.host("lab").pin, book.host("lab").next_pin],
    announces: (next_spki: unknown) => {
      status = () => Response.json({ next_spki });
    },
    answers: (response: () => Response) => {
      status = response;
    },
    async use(pair: Pair) {
      await host.stop(true);
      host = serve(pair, port);
    },
    poll: async () => {
      const [polled] = (await (await desk.call("/admin/poll")).json()) as [{ error: string | null }];
      return polled.error;
    },
    rows: async () =>
      (await (await desk.service.audit())?.list({ event_type: "desk", limit: 10 }))?.map(
        ({ detail }) => detail,
      ),
    async [Symbol.asyncDispose]() {
      await host.stop(true);
      await desk[Symbol.asyncDispose]();
    },
  };
}

withOpenssl("a key that the old one announced is trusted, and alone once it was seen", async () => {
  await using made = await deskAndHost();
  made.announces(next.pin);
  expect(await made.poll()).toBeNull();
  expect(made.pins()).toEqual([old.pin, next.pin]);
  await made.use(next);
  made.announces(null);
  expect(await made.poll()).toBeNull();
  expect(made.pins()).toEqual([next.pin, undefined]);
  await made.use(old);
  expect(await made.poll()).toBe("the key is not the pinned one");
  expect(made.pins()).toEqual([next.pin, undefined]);
});

withOpenssl("each step of it is on record before it is made", async () => {
  await using made = await deskAndHost();
  made.announces(next.pin);
  await made.poll();
  await made.poll();
  await made.use(next);
  await made.poll();
  expect(await made.rows()).toEqual([
    `admin.follow_key label="lab" pin=${next.pin}`,
    `admin.follow_key label="lab" pin=${old.pin} next_pin=${next.pin}`,
  ]);
});

withOpenssl("a key that nobody has announced is not trusted, and nothing is sent", async () => {
  await using made = await deskAndHost();
  made.announces(next.pin);
  await made.poll();
  await made.use(third);
  made.asked.length = 0;
  made.announces(third.pin);
  expect(await made.poll()).toBe("the key is not the pinned one");
  expect(made.asked).toEqual([]);
  expect(made.pins()).toEqual([old.pin, next.pin]);
});

withOpenssl("a host that changes to its next key, and says so before it shows it, is followed", async () => {
  await using made = await deskAndHost();
  made.announces(next.pin);
  await made.poll();
  made.announces(null);
  await made.poll();
  expect(made.pins()).toEqual([old.pin, next.pin]);
  await made.use(next);
  expect(await made.poll()).toBeNull();
  expect(made.pins()).toEqual([next.pin, undefined]);
});

withOpenssl("an announcement that is taken back is forgotten at the second poll", async () => {
  await using made = await deskAndHost();
  made.announces(next.pin);
  await made.poll();
  made.announces(null);
  await made.poll();
  await made.poll();
  expect(made.pins()).toEqual([old.pin, undefined]);
});

withOpenssl(
  "a host that does not say, or says what is no pin of a key, is healthy and keeps its pins",
  async () => {
    await using made = await deskAndHost();
    made.announces(next.pin);
    await made.poll();
    const odd = [{}, "spki:", `sha256:${"ab".repeat(32)}`, 7].map(
      (next_spki) => () => Response.json({ next_spki }),
    );
    const refusals = [404, 403, 500].map((status) => () => new Response("{}", { status }));
    for (const answer of [...odd, ...refusals, () => new Response("<html>")]) {
      made.answers(answer);
      expect(await made.poll()).toBeNull();
      expect(made.pins()).toEqual([old.pin, next.pin]);
    }
  },
);

withOpenssl("a new pin by hand ends what the old key has announced", async () => {
  await using made = await deskAndHost();
  made.announces(next.pin);
  await made.poll();
  const body = JSON.stringify({ label: "lab", pin: third.pin });
  await made.desk.call("/admin/hosts/set", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(made.pins()).toEqual([third.pin, undefined]);
  await made.use(next);
  expect(await made.poll()).toBe("the key is not the pinned one");
});

withOpenssl("a host that is pinned by its certificate, or not pinned, is not asked", async () => {
  await using made = await deskAndHost();
  const book = await made.desk.service.addressBook();
  await book.set("lab", () => ({ pin: undefined, ca: old.cert }));
  expect(await made.poll()).toBeNull();
  expect(made.asked).not.toContain("/status");
});

withOpenssl(
  "a host that announces another key at every poll is followed a few times, and then stays healthy",
  async () => {
    await using made = await deskAndHost();
    for (let nth = 0; nth < 10; nth++) {
      made.announces(`spki:${new Bun.CryptoHasher("sha256").update(`${nth}`).digest("base64url")}`);
      expect(await made.poll()).toBeNull();
    }
    expect(await made.rows()).toHaveLength(6);
  },
);
