/**
 * Why a goal is missed, in a sentence, by the name of the figure. A figure whose goal is met again needs none.
 */

/** The reason of each figure, or of all whose names begin so. */
export const REASONS: Readonly<Record<string, string>> = {
  "a poll of 10,000 hosts":
    "Two processors ask all of them in some 2 s, and the timeout of 3 s of the last dead one begins then; a desk that has asked them before asks those that were dead first.",
  "requests with the audit log":
    "A commit waits 0.2 ms for the disk in the thread that also answers, and with few connections all of them wait for it together. A thread for commits was not built: it costs 6.5 MiB when it runs, and a message to it and back 28 µs.",
  "single appends / bare inserts":
    "Beside the same inserts, svc hashes the row, and waits a turn of the event loop for others to share the commit.",
  "GET /health":
    "Bun alone takes 9 µs for a request; svc adds 7 µs: its route, the name of the host, the address of the client, limits and metrics.",
  "GET /inspector/summary":
    "As for /health, and the token is checked, the input read and the answer written as JSON.",
  "GET /sessions": "As for /inspector/summary.",
  "GET /commands": "As for /inspector/summary.",
  "50,000 hosts behind a NATS server":
    "Requests are signed and sealed for each host; those of the bare loop are not.",
  "peak memory of the desk":
    "A plan for 2,000 hosts takes 110 MiB, svc's source included; each further host takes 3 to 4 KiB: its record, its job and its answer.",
  "processor time of the longest turn of the event loop in these plans":
    "The rows of a plan are written in one transaction, and read into memory in one turn when it begins: 1.5 µs for each host.",
  "screenshot,":
    "Of 38 ms of processor time beside a server, 5 are the start of Bun, 18 reading the command line and asking, 14 the picture, its PNG and its audit row; the rest of the time is the disk, as the file and its folder are synced.",
  "locate,":
    "Of 45 ms of processor time beside a server, 5 are the start of Bun, 21 reading the command line and asking, and 17 reading the screen and the picture; alone, some 50 more start the process that sees the screen.",
  "live screen: processor time per picture, 640x360":
    "svc took 4.3 ms, as in the runs before; the ratio was 1.16 to 1.43 in three runs, as x11vnc itself took 3.2 to 3.8 ms.",
  "live screen: processor time of ten viewers":
    "The picture is made once, but sent to each: a further viewer takes 0.4 % of a processor where 2 to 16 only read, and up to 1.2 % in this figure, beside 13 to 17 % for the picture.",
  "svc --version":
    "0.6 ms of processor time more: the larger program has 140 pages more that a start touches (820 for 680).",
  "svc serve ready":
    "The rows take nothing: of 56 ms of processor time, 13 are a first process that reads the command line and replaces itself, so that its parser does not stay in memory, and the rest loads the server.",
  "sync: time for 1 GiB":
    "Both sides cut and hash the whole file, at the same time: 1.5 s of processor time, and 0.6 s more at the sender for the digest; then the receiver copies the version before, 0.6 s to hash it again and 0.3 s or more to write it and wait for the disk.",
  "what svc adds to a compiled hello-world":
    "Native libraries for the screen, USB and WebRTC, the dashboard, Swagger UI and the help pages are in it, compressed.",
  "idle svc serve":
    "Bun takes 29 MiB with an empty server, and 10 more once files, SQLite, digests, timers and patterns are used; of the rest, 3 are svc's code, 7 its own memory, and 3 further code of Bun.",
};

/** The reason of the figure `name`; undefined where nobody has written one. */
export const reasonOf = (name: string): string | undefined =>
  Object.entries(REASONS).find(([beginning]) => name.startsWith(beginning))?.[1];
