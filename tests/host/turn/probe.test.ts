/** The probe against relays that are not what they should be: it ends with a report, whatever they answer. */
import { expect, test } from "bun:test";
import { classes, methods } from "werift-ice/lib/ice/src/stun/const";
import { Message, parseMessage } from "werift-ice/lib/ice/src/stun/message";
import { makeIntegrityKey } from "werift-ice/lib/ice/src/turn/protocol";
import { probeRelay } from "../../../src/host/turn/probe";
import { parseTurnUrl } from "../../../src/host/turn/url";

/** What a relay answers to a request that is signed; null for nothing. */
type Answer = (request: Message) => Message | Buffer | null;

const success = ({ messageMethod, transactionId }: Message) =>
  new Message(messageMethod, classes.RESPONSE, transactionId);

const refusal = ({ messageMethod, transactionId }: Message, code: number) =>
  new Message(messageMethod, classes.ERROR, transactionId).setAttribute("ERROR-CODE", [code, "no"]);

const KEY = makeIntegrityKey("lab", "test", "s3cret");

/** Asks who does not say who they are, and signs what it answers to the others. */
const signed = (answer: (request: Message) => Message) => (request: Message) =>
  request.getAttributeValue("USERNAME") === undefined
    ? refusal(request, 401).setAttribute("REALM", "test").setAttribute("NONCE", Buffer.from("nonce"))
    : answer(request).addMessageIntegrity(KEY).addFingerprint();

/** An allocation. */
const allocation = (request: Message) =>
  success(request)
    .setAttribute("XOR-RELAYED-ADDRESS", ["198.41.0.4", 50_000])
    .setAttribute("XOR-MAPPED-ADDRESS", ["198.41.0.9", 40_000])
    .setAttribute("LIFETIME", 600);

/** For a relay that answers: longer than any answer takes on a busy machine. */
const PATIENT_MS = 10_000;
/** For a relay that does not. */
const HASTY_MS = 300;
/** For one that answers and relays nothing: its answers have to come within it too. */
const ROUND_TRIP_MS = 3_000;

/** What the probe says of a relay on UDP that answers like this. */
async function probeOf(answer: Answer, timeoutMs = PATIENT_MS) {
  const socket = await Bun.udpSocket({
    hostname: "127.0.0.1",
    socket: {
      data(socket, data, port, address) {
        const request = parseMessage(Buffer.from(data));
        const reply = request && answer(request);
        if (reply) socket.send(reply instanceof Message ? reply.bytes : reply, port, address);
      },
    },
  });
  try {
    return await probe(`turn:127.0.0.1:${socket.port}`, timeoutMs);
  } finally {
    socket.close();
  }
}

async function probe(url: string, timeoutMs = PATIENT_MS) {
  const report = await probeRelay({ url: parseTurnUrl(url), user: "lab", secret: "s3cret", timeoutMs });
  return {
    ...report,
    failed: report.checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`),
  };
}

test("silence", async () => {
  expect(await probeOf(() => null, HASTY_MS)).toMatchObject({
    ok: false,
    failed: ["allocate: no answer in time"],
  });
});

test("noise", async () => {
  const report = await probeOf(() => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), HASTY_MS);
  expect(report).toMatchObject({ ok: false, failed: ["allocate: no answer in time"], relayed_address: null });
});

test("an allocation without an address", async () => {
  const report = await probeOf(signed((request) => success(request).setAttribute("LIFETIME", 600)));
  expect(report.failed).toEqual(["allocate: the relay's answer has no address in it"]);
});

test("an allocation for anybody", async () => {
  expect((await probeOf(allocation)).failed).toEqual([
    "allocate: open to anybody: the relay asks for no user",
  ]);
});

test("no allocation to be had", async () => {
  expect((await probeOf(signed((request) => refusal(request, 508)))).failed).toEqual([
    "allocate: 508: the relay has no port left",
  ]);
});

test("every peer is taken, and nothing comes back", async () => {
  const report = await probeOf(
    signed((request) =>
      request.messageMethod === methods.ALLOCATE ? allocation(request) : success(request),
    ),
    ROUND_TRIP_MS,
  );
  expect(report).toMatchObject({
    ok: false,
    relayed_address: "198.41.0.4:50000",
    mapped_address: "198.41.0.9:40000",
  });
  expect(report.failed).toEqual([
    "relay to itself: no answer in time",
    "refuse 127.0.0.1: taken for a peer: a way into the relay's network",
    "refuse 169.254.169.254: taken for a peer: a way into the relay's network",
    "refuse 10.0.0.1: taken for a peer: a way into the relay's network",
  ]);
});

test("a peer is refused as a permission and taken as a channel", async () => {
  const { failed } = await probeOf(
    signed((request) => {
      if (request.messageMethod === methods.ALLOCATE) return allocation(request);
      return request.messageMethod === methods.CREATE_PERMISSION ? refusal(request, 403) : success(request);
    }),
  );
  expect(failed.at(-1)).toBe("refuse 10.0.0.1: taken for a peer: a way into the relay's network");
});

test("an answer that is neither yes nor no", async () => {
  const { failed } = await probeOf(
    signed((request) =>
      request.messageMethod === methods.ALLOCATE ? allocation(request) : refusal(request, 400),
    ),
  );
  expect(failed.at(-1)).toBe("refuse 10.0.0.1: the relay answered 400: expected 403");
});

test("a connection that is closed at once", async () => {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: (socket) => void socket.end(), data() {} },
  });
  const report = await probe(`turn:127.0.0.1:${server.port}?transport=tcp`);
  server.stop(true);
  expect(report.failed).toEqual(["allocate: the relay closed the connection"]);
});

test("a server that accepts and never shakes hands", async () => {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const report = await probe(`turns:127.0.0.1:${server.port}`, HASTY_MS);
  server.stop(true);
  expect(report.failed).toEqual(["connect: no answer in time"]);
});

test("a name that nobody has", async () => {
  const { failed } = await probe("turn:nobody.invalid");
  expect(failed[0]).toMatch(/^connect: (ENOTFOUND|EAI_AGAIN|DNS_ENOTFOUND|no answer in time)/);
});
