/** Hosts that are reached over a link or over NATS, with the compiled binary and real programs. */
import { describe, expect } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { addSegment } from "../host/desktop/screen/black-box/support";
import { SIZE, startDisplay } from "../host/desktop/support";
import { serveBinary, temporaryFolder, testWith, until } from "../support";
import { startNats } from "../wire/nats/support";
import { svc } from "./screen-pair";

const CARRIERS = ["link", "nats"] as const;

/** The programs that a carrier needs. */
const needed = { link: [], nats: ["nats-server"] } as const;

/** A desk, and a host that has joined and is reached over the carrier. */
async function pairOver(carrier: (typeof CARRIERS)[number], hostEnv: NodeJS.ProcessEnv = {}) {
  await using stack = new AsyncDisposableStack();
  const desk = stack.use(await serveBinary(carrier === "link" ? ["--hub", "--tls"] : ["--tls"]));
  if (carrier === "nats") {
    const nats = stack.use(await startNats({ tls: true }));
    writeFileSync(join(desk.configDir, "nats.json"), JSON.stringify(await nats.part()));
  }
  const host = stack.use(await serveBinary(["--tls"], { env: { ...process.env, ...hostEnv } }));
  const string = join(host.configDir, "string");
  writeFileSync(string, await svc(desk, "join-token", "--tag", "floor"));
  await svc(host, "join", "--file", string, "--label", "lab one");
  const [entry] = JSON.parse(await svc(desk, "admin", "list", "--json"));
  expect(entry.base_url).toStartWith(`${carrier}:`);
  await until("the host", async () => {
    const polled = (await (await desk.call("/admin/poll")).json()) as Array<{ healthy: boolean }>;
    return polled[0]?.healthy;
  });
  const rest = stack.move();
  return { desk, host, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

describe.each(CARRIERS)("over %s", (carrier) => {
  testWith("Xvfb", ...needed[carrier])("svc screenshot --on has a picture of a host", async () => {
    await using display = await startDisplay({ managed: false });
    await using pair = await pairOver(carrier, display.env);
    using folder = temporaryFolder();
    await svc(pair.desk, "screenshot", "--on", "all", "--output", folder.path);
    const [name = ""] = readdirSync(folder.path);
    const picture = readFileSync(join(folder.path, name));
    expect(picture.subarray(1, 4).toString()).toBe("PNG");
    expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([SIZE.width, SIZE.height]);
  });

  testWith(...needed[carrier])(
    "svc screen at has the picture that its black box keeps of a time",
    async () => {
      await using pair = await pairOver(carrier);
      const time = addSegment(pair.host.configDir, "Error 0x80070005");
      using folder = temporaryFolder();
      const file = join(folder.path, "then.png");
      await svc(pair.desk, "screen", "at", "lab one", time, "--output", file);
      const picture = readFileSync(file);
      expect(picture.subarray(1, 4).toString()).toBe("PNG");
      expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([4, 4]);
    },
  );

  testWith("prometheus", ...needed[carrier])(
    "Prometheus scrapes a host at its desk, which reaches it",
    async () => {
      await using pair = await pairOver(carrier);
      using folder = temporaryFolder();
      const at = (name: string) => join(folder.path, name);
      writeFileSync(at("desk.pem"), await svc(pair.desk, "tls", "cert"));
      writeFileSync(at("token"), await svc(pair.desk, "token", "add", "prometheus", "--scope", "metrics"));
      writeFileSync(
        at("prometheus.yml"),
        `scrape_configs:
  - job_name: svc
    scrape_interval: 1s
    tls_config: &svc { ca_file: desk.pem }
    authorization: &scraper { type: Bearer, credentials_file: token }
    http_sd_configs:
      - url: ${pair.desk.url}/admin/targets
        tls_config: *svc
        authorization: *scraper
        refresh_interval: 1s
`,
      );
      const listen = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      const address = `127.0.0.1:${listen.port}`;
      listen.stop(true);
      const prometheus = Bun.spawn(
        [
          "prometheus",
          `--config.file=${at("prometheus.yml")}`,
          `--storage.tsdb.path=${at("tsdb")}`,
          `--web.listen-address=${address}`,
        ],
        { stdio: ["ignore", "ignore", "ignore"] },
      );
      /** The value of each host. */
      const query = async (text: string): Promise<string[]> => {
        // Where another program has got the port first, it may be silent.
        const signal = AbortSignal.timeout(10_000);
        const url = `http://${address}/api/v1/query?query=${encodeURIComponent(text)}`;
        const answer = await fetch(url, { signal }).catch(() => null);
        if (!answer?.ok) return [];
        const { data } = (await answer.json()) as {
          data: { result: Array<{ metric: Record<string, string>; value: [number, string] }> };
        };
        return data.result.map(
          ({ metric, value }) => `${metric.svc_host} floor=${metric.svc_tag_floor} ${value[1]}`,
        );
      };
      const sees = (text: string, wanted: string[]) =>
        until(`Prometheus to see ${wanted}`, async () => Bun.deepEquals(await query(text), wanted), {
          seconds: 60,
          everyMs: 100,
        });
      try {
        await sees('up{svc_desk=""}', ["lab one floor=true 1"]);
        process.kill(pair.host.pid, "SIGKILL");
        await sees('up{svc_desk=""}', ["lab one floor=true 0"]);
      } finally {
        prometheus.kill();
        await prometheus.exited;
      }
    },
    180_000,
  );
});
