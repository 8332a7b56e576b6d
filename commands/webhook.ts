/** `svc webhook`: adds, lists, removes and tests the addresses to which this host posts events. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { addWebhook, listWebhooks, removeWebhook, testWebhook } from "../src/host/webhooks/operations";

export default {
  verbs: {
    add: view(addWebhook, {
      positionals: ["name", "url"],
      text: ({ name, secret }) => `${name} added. Its secret, which is not shown again:\n${secret}`,
      examples: [
        [
          "$0 webhook add chat https://chat.example/hooks/7 --types run.ended,host.down",
          "Post these events there",
        ],
        [
          "$0 webhook add bus https://broker.example/events --format cloudevents",
          "All events, as CloudEvents",
        ],
        [
          "$0 webhook add local http://127.0.0.1:8000/ --allow-private",
          "All events, to a program on this host",
        ],
      ],
    }),
    list: view(listWebhooks, {
      columns: ["NAME", "URL", "TYPES", "OWNER", "WAITING", "DELIVERED", "FAILED", "LAST TRY", "FAULT"],
      rows: ({ webhooks }) =>
        webhooks.map(
          ({
            name,
            url,
            types,
            token,
            waiting,
            delivered,
            failed,
            dropped,
            last_at,
            last_error,
            disabled,
          }) => [
            ...[name, url, types.join() || "all", token ?? "owner"],
            ...[`${waiting}`, `${delivered}`, `${failed + dropped}`],
            ...[last_at ?? "never", disabled ? `disabled: ${disabled}` : (last_error ?? "")],
          ],
        ),
      none: "no webhooks",
      examples: [["$0 webhook list", "How deliveries went"]],
    }),
    remove: view(removeWebhook, {
      positionals: ["name"],
      text: ({ removed }) => `${removed} removed`,
      examples: [["$0 webhook remove chat", "Nothing is posted there from now on"]],
    }),
    test: view(testWebhook, {
      positionals: ["name"],
      text: ({ name, ok, status, error, duration_ms }) =>
        `${name} ${ok ? `took it: HTTP ${status}` : `did not take it: ${error}${status !== null && status >= 300 && status < 400 ? ", and svc follows no redirect" : ""}`} (${duration_ms} ms)`,
      good: ({ ok }) => ok,
      examples: [["$0 webhook test chat", "Whether its receiver takes a message"]],
    }),
  },
} satisfies Group;
