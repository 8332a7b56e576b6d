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
        { title: "Active runs", description: "Runs of action lists, waiting ones included.", unit: "none" },
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
        { title: "Busiest routes", description: "The ten busiest routes.", unit: "reqps" },
        [[mostOf(`sum by (method, path) (${rate("service_rest_requests_total")})`), "{{method}} {{path}}"]],
        12,
      ),
      graph(
        {
          title: "Server errors",
          description:
            "Share of a host's requests that end in a 5xx, but for want of a screen; the ten worst. 503: the host lacks something. 500: a bug.",
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
              "95 % of the answers of a route came within this time; the ten slowest. Routes that run scripts take as long as the script.",
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
              "90 % of a host's answers to simple requests came within this time; the ten slowest.",
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
              "Runs of action lists that ended, per minute. error: an action failed. timeout: at the deadline.",
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
            "Runs that ended, per minute: by requests (rest), jobs (scheduler), plans of a desk (plan), or svc itself (manual).",
          unit: "opm",
        },
        [[`sum by (source) (${rate("service_runs_total")}) * 60`, "{{source}}"]],
      ),
      graph(
        {
          title: "Active runs",
          description:
            "The ten hosts with most. A host allows 256; runs that use pointer or keyboard take turns.",
          unit: "none",
        },
        [[mostOf(perHost(at("service_active_runs"))), "{{instance}}"]],
        12,
      ),
      graph(
        {
          title: "Scheduled jobs",
          description: "The ten hosts with most, paused jobs included.",
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
      graph(
        { title: "Peer sessions", description: "Connected sessions; the ten hosts with most.", unit: "none" },
        [[mostOf(perHost(at("service_active_sessions"))), "{{instance}}"]],
      ),
      graph(
        {
          title: "Round trip",
          description:
            "Median and 90th percentile of all samples. This row is empty while no link is measured.",
          unit: "s",
        },
        [
          [quantile(0.5, "service_link_rtt_seconds"), "50 %"],
          [quantile(0.9, "service_link_rtt_seconds"), "90 %"],
        ],
      ),
      graph(
        { title: "Throughput", description: "Average of a link; the ten hosts with most.", unit: "Bps" },
        [[mostOf(mean("service_link_bitrate_bytes_per_second")), "{{instance}}"]],
      ),
      graph(
        {
          title: "Packet loss",
          description: "Average; the ten worst hosts. Sessions of svc itself do not measure it.",
          unit: "percentunit",
        },
        [[mostOf(mean("service_link_packet_loss_ratio")), "{{instance}}"]],
      ),
      graph(
        {
          title: "Jitter",
          description:
            "90th percentile of the samples of all links. Sessions of svc itself do not measure it.",
          unit: "s",
        },
        [[quantile(0.9, "service_link_jitter_seconds"), "90 %"]],
      ),
      graph(
        {
          title: "Frames per second",
          description: "Average; the ten hosts with most. Sessions of svc itself have no picture.",
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
            "The ten longest logs. A drop by a tenth: old rows were archived. A larger drop: pruned or cleared.",
          unit: "short",
        },
        [[mostOf(perHost(at("service_rest_audit_rows"))), "{{instance}}"]],
      ),
      graph(
        {
          title: "Audit rows that could not be written",
          description: "Per minute, by host. Above 0: svc refuses requests for changes.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_audit_failures_total"))} * 60`), "{{instance}}"]],
      ),
      graph(
        {
          title: "Wrong tokens",
          description:
            "Per minute, by host. More than a few: somebody guesses tokens, or a client has an old one.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_rest_failed_auth_total"))} * 60`), "{{instance}}"]],
      ),
    ],
  ],
  [
    "Links and plans",
    [
      graph(
        {
          title: "Linked hosts",
          description:
            "Hosts that are linked to each desk. A sudden drop: the network of the desk, or the desk itself.",
          unit: "none",
        },
        [[at("service_hub_links", 'state="linked"'), "{{instance}}"]],
      ),
      graph(
        {
          title: "Dials of the desk",
          description: "Per minute, by host; the ten with most. A link that stays up needs none.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_desk_link_dials_total"))} * 60`), "{{instance}}"]],
      ),
      stacked(
        graph(
          {
            title: "Hosts of plans by state",
            description: "Of the plans that are not over.",
            unit: "none",
          },
          [[`sum by (state) (${at("service_plan_targets")})`, "{{state}}"]],
        ),
      ),
      graph(
        {
          title: "Screens that differ",
          description: "Hosts whose screens stand out among those with the same tag, with --odd-on.",
          unit: "none",
        },
        [[at("service_odd_hosts", 'state="odd"'), "{{instance}}"]],
      ),
      graph(
        {
          title: "Plans that are not over",
          description: "Running, and paused: by hand, or after too many failures.",
          unit: "none",
        },
        [[`sum by (state) (${at("service_plans")})`, "{{state}}"]],
      ),
      graph(
        {
          title: "Hosts that differ from their file",
          description: "From the state that was applied to them last: svc fleet list on the desk.",
          unit: "none",
        },
        [[`max by (state) (${at("service_fleet_drift")})`, "{{state}}"]],
      ),
    ],
  ],
  [
    "Witnesses, NATS and viewers",
    [
      stacked(
        graph(
          {
            title: "Audit logs by state",
            description: "Of the hosts that have joined a desk, by what it finds about them.",
            unit: "none",
          },
          [[`sum by (state) (${at("service_witness_logs")})`, "{{state}}"]],
        ),
      ),
      graph(
        {
          title: "NATS connections",
          description: "1 while connected, by what it is connected as; the ten that are down first.",
          unit: "none",
        },
        [[`bottomk(10, min by (instance, role) (${at("service_nats_up")}))`, "{{instance}} {{role}}"]],
      ),
      stacked(
        graph(
          {
            title: "Hosts over NATS",
            description: "Hosts that desks hear, and those that they heard before.",
            unit: "none",
          },
          [[`sum by (state) (${at("service_nats_hosts")})`, "{{state}}"]],
        ),
      ),
      graph(
        {
          title: "Links of hosts to their desk",
          description: "1 while linked; the ten that are down first.",
          unit: "none",
        },
        [[`bottomk(10, ${perHost(at("service_desk_link_up"))})`, "{{instance}}"]],
      ),
      graph(
        { title: "Viewers", description: "Of the live screens; the ten hosts with most.", unit: "none" },
        [[mostOf(perHost(at("service_screen_viewers"))), "{{instance}}"]],
      ),
    ],
  ],
  [
    "Host",
    [
      graph(
        {
          title: "Checks that fail",
          description: "Of svc diagnose, by host; the ten with most.",
          unit: "none",
        },
        [[mostOf(perHost(at("service_diagnose_checks", 'state="error"'))), "{{instance}}"]],
      ),
      graph(
        {
          title: "Clock offset",
          description: "By how much time-keeping still has to set the clock; the ten largest.",
          unit: "s",
        },
        [[mostOf(`abs(${perHost(at("service_clock_offset_seconds"))})`), "{{instance}}"]],
      ),
      graph(
        {
          title: "Free disk",
          description: "At the configuration folder; the ten with least.",
          unit: "bytes",
        },
        [[`bottomk(10, ${perHost(at("service_disk_free_bytes"))})`, "{{instance}}"]],
      ),
      graph(
        {
          title: "Certificates and tokens",
          description: "Time until they end; the ten that end first.",
          unit: "s",
        },
        [
          [
            `bottomk(10, ${perHost(at("service_certificate_expires_seconds"))})`,
            "certificate of {{instance}}",
          ],
          [
            `bottomk(10, min by (instance, name) (${at("service_token_expires_seconds")}))`,
            "token {{name}} of {{instance}}",
          ],
        ],
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
