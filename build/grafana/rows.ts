/**
 * What the dashboard shows, from top to bottom.
 */
import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import type { Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import { coarse, graph, number, stacked } from "./panels";
import { AT_ONCE, at, ERRORS, FAILED, FIRING, mean, mostOf, perHost, quantile, rate } from "./queries";
import { alertList, hostList } from "./tables";

/** The rows of the dashboard, each with its panels from left to right. */
export const rows = (): ReadonlyArray<readonly [title: string, panels: ReadonlyArray<Builder<Panel>>]> => [
  [
    "Fleet",
    [
      number(
        { title: "Hosts up", description: "Hosts that Prometheus has metrics of.", unit: "none" },
        `sum(${at("up")})`,
      ),
      number(
        { title: "Hosts down", description: "Hosts that do not answer Prometheus.", unit: "none" },
        `count(${at("up")} == 0) or vector(0)`,
        1,
      ),
      number(
        { title: "Firing alerts", description: "Of docs/prometheus/alerts.yml, at any host.", unit: "none" },
        `count(${FIRING}) or vector(0)`,
        1,
      ),
      number(
        {
          title: "Builds",
          description: "Different builds of svc; more than one during an upgrade.",
          unit: "none",
        },
        `count(count by (version, commit) (${at("service_build_info")}))`,
        2,
      ),
      number(
        { title: "Peer sessions", description: "Connected now.", unit: "none" },
        `sum(${at("service_active_sessions")})`,
      ),
      number(
        { title: "Runs going on", description: "Runs of action lists, waiting ones included.", unit: "none" },
        `sum(${at("service_active_runs")})`,
      ),
      hostList(),
      alertList(),
    ],
  ],
  [
    "Requests",
    [
      stacked(
        graph(
          {
            title: "Requests by status",
            description:
              "401: no token or a wrong one. 429: beyond the rate limit, or locked out. 5xx: see below.",
            unit: "reqps",
          },
          [[`sum by (status) (${rate("service_rest_requests_total")})`, "{{status}}"]],
          12,
        ),
      ),
      graph(
        { title: "Busiest routes", description: "The ten that are asked for most often.", unit: "reqps" },
        [[mostOf(`sum by (method, path) (${rate("service_rest_requests_total")})`), "{{method}} {{path}}"]],
        12,
      ),
      graph(
        {
          title: "Server errors",
          description:
            "Share of a host's requests that end in a 5xx; the ten worst. 503: it lacks something. 500: a bug.",
          unit: "percentunit",
        },
        [
          [
            mostOf(
              `${perHost(rate("service_rest_requests_total", ERRORS))} / ${perHost(rate("service_rest_requests_total"))}`,
            ),
            "{{instance}}",
          ],
        ],
      ),
      coarse(
        graph(
          {
            title: "Slowest routes",
            description:
              "95 % of the answers of a route came within this time; the ten slowest. Scripts take as long as they do.",
            unit: "s",
          },
          [[mostOf(quantile(0.95, "service_rest_request_duration_seconds", ["path"])), "{{path}}"]],
        ),
      ),
      coarse(
        graph(
          {
            title: "Slowest hosts",
            description:
              "90 % of a host's answers to what is there at once came within this time; the ten slowest.",
            unit: "s",
          },
          [
            [
              mostOf(quantile(0.9, "service_rest_request_duration_seconds", ["instance"], AT_ONCE)),
              "{{instance}}",
            ],
          ],
        ),
      ),
    ],
  ],
  [
    "Actions",
    [
      stacked(
        graph(
          {
            title: "Runs by ending",
            description:
              "Runs of action lists that ended, in a minute. error: an action failed. timeout: at the deadline.",
            unit: "opm",
          },
          [[`sum by (status) (${rate("service_runs_total")}) * 60`, "{{status}}"]],
        ),
      ),
      graph(
        {
          title: "Failing runs",
          description: "Share of a host's runs that end with an error or at their deadline; the ten worst.",
          unit: "percentunit",
        },
        [
          [
            mostOf(`${perHost(rate("service_runs_total", FAILED))} / ${perHost(rate("service_runs_total"))}`),
            "{{instance}}",
          ],
        ],
      ),
      graph(
        {
          title: "Runs by source",
          description:
            "Runs that ended, in a minute: of requests (rest), of jobs (scheduler), of svc itself (manual).",
          unit: "opm",
        },
        [[`sum by (source) (${rate("service_runs_total")}) * 60`, "{{source}}"]],
      ),
      graph(
        {
          title: "Runs going on",
          description:
            "By host, the ten with most. A host takes 256; runs that use pointer or keyboard wait for one another.",
          unit: "none",
        },
        [[mostOf(perHost(at("service_active_runs"))), "{{instance}}"]],
        12,
      ),
      graph(
        {
          title: "Scheduled jobs",
          description: "By host, the ten with most; paused ones included.",
          unit: "none",
        },
        [[mostOf(perHost(at("service_scheduler_jobs"))), "{{instance}}"]],
        12,
      ),
    ],
  ],
  [
    "Sessions and links",
    [
      graph({ title: "Peer sessions", description: "Connected, by host; the ten with most.", unit: "none" }, [
        [mostOf(perHost(at("service_active_sessions"))), "{{instance}}"],
      ]),
      graph(
        {
          title: "Round trip",
          description:
            "Half and 90 % of all samples are below. Empty while no link is measured, like its neighbours.",
          unit: "s",
        },
        [
          [quantile(0.5, "service_link_rtt_seconds"), "50 %"],
          [quantile(0.9, "service_link_rtt_seconds"), "90 %"],
        ],
      ),
      graph(
        { title: "Throughput", description: "Of a link, on average; the ten hosts with most.", unit: "Bps" },
        [[mostOf(mean("service_link_bitrate_bytes_per_second")), "{{instance}}"]],
      ),
      graph(
        {
          title: "Packet loss",
          description: "On average; the ten worst hosts. Sessions of svc itself do not measure it.",
          unit: "percentunit",
        },
        [[mostOf(mean("service_link_packet_loss_ratio")), "{{instance}}"]],
      ),
      graph(
        {
          title: "Jitter",
          description:
            "90 % of the samples of all links are below. Sessions of svc itself do not measure it.",
          unit: "s",
        },
        [[quantile(0.9, "service_link_jitter_seconds"), "90 %"]],
      ),
      graph(
        {
          title: "Frames a second",
          description: "On average; the ten hosts with most. Sessions of svc itself have no picture.",
          unit: "none",
        },
        [[mostOf(mean("service_link_frames_per_second")), "{{instance}}"]],
      ),
    ],
  ],
  [
    "Audit and access",
    [
      graph(
        {
          title: "Audit rows",
          description:
            "In the log, by host; the ten longest. A fall of a tenth: old rows were archived. More: pruned or cleared.",
          unit: "short",
        },
        [[mostOf(perHost(at("service_rest_audit_rows"))), "{{instance}}"]],
      ),
      graph(
        {
          title: "Audit rows that could not be written",
          description: "In a minute, by host. Anything above 0: requests that change something are refused.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_audit_failures_total"))} * 60`), "{{instance}}"]],
      ),
      graph(
        {
          title: "Wrong tokens",
          description: "In a minute, by host. Above some: somebody guesses, or a client has an old token.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_rest_failed_auth_total"))} * 60`), "{{instance}}"]],
      ),
    ],
  ],
  [
    "Process",
    [
      graph(
        {
          title: "Memory",
          description: "Resident, without child processes; the ten with most.",
          unit: "bytes",
        },
        [[mostOf(perHost(at("process_resident_memory_bytes"))), "{{instance}}"]],
        6,
      ),
      graph(
        {
          title: "Processor",
          description: "Of one processor, without child processes; the ten busiest.",
          unit: "percentunit",
        },
        [[mostOf(perHost(rate("process_cpu_seconds_total"))), "{{instance}}"]],
        6,
      ),
      graph(
        {
          title: "File descriptors",
          description: "Share of those that may be open; on Linux.",
          unit: "percentunit",
        },
        [[mostOf(`${perHost(at("process_open_fds"))} / ${perHost(at("process_max_fds"))}`), "{{instance}}"]],
        6,
      ),
      graph(
        {
          title: "Starts",
          description: "Within the hour before, by host. Three are a crash loop.",
          unit: "none",
        },
        [[mostOf(perHost(`changes(${at("process_start_time_seconds")}[1h])`)), "{{instance}}"]],
        6,
      ),
    ],
  ],
];
