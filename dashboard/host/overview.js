/**
 * Overview: is something broken, does something wait for a person, what runs? A desk answers that for its hosts, a host for itself.
 */
import { deskFace } from "../desk/fleet.js";
import { el } from "../dom.js";
import { insecureNotice } from "../parts.js";
import { hostFace } from "./overview-glances.js";
import { stateLine } from "./overview-line.js";

/** @typedef {import("../wire").Answer<"admin/hosts">} Book */
/** @typedef {import("../wire").Answer<"link/state">["host"]} HostLink */

/**
 * One of the two faces of the page. It ends with the view that it was made with.
 *
 * @typedef {object} Face
 * @property {(hosts: number) => void} book how many hosts the address book has
 * @property {(link: HostLink) => void} link the link of this host to its desk; null where it has none
 */

/** Seconds between requests for what tells a desk from a host; and for links, where events come, as those have none. */
const EVERY_S = 30;
const LINK_REST_S = 300;

/**
 * The address book after an event. Only how many hosts it has is looked at.
 *
 * @param {Book} book
 * @param {import("../events.js").Happening} happened
 */
function afterBook(book, { type, data }) {
  const others = book.filter(({ label }) => label !== data.label);
  if (type === "host.removed") return others.length === book.length ? book : others;
  if (others.length < book.length) return book;
  return [...book, /** @type {Book[number]} */ (/** @type {unknown} */ (data))];
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const insecure = insecureNotice();
  const line = stateLine();
  const place = el("div", { class: "overview" });
  view.root.append(insecure.root, line.root, place);
  /** How many hosts the address book has; null before that is known. @type {number | null} */
  let hosts = null;
  /** Whether hosts dial this server, and its own link to a desk; undefined before that is known. @type {{ isHub: boolean, link: HostLink } | undefined} */
  let links;
  /** @type {typeof deskFace | typeof hostFace | null} */
  let shown = null;
  /** @type {Face | null} */
  let face = null;
  let ends = new AbortController();

  /** Shows the face of a desk, or that of a host, once it is known which of them this is. */
  function show() {
    if (hosts === null || (hosts === 0 && links === undefined)) return;
    const wanted = hosts > 0 || links?.isHub ? deskFace : hostFace;
    if (wanted !== shown) {
      ends.abort();
      ends = new AbortController();
      place.replaceChildren();
      if (shown !== null) line.begin(["book", "link"]);
      shown = wanted;
      face = wanted(view.until(ends.signal), line, place);
    }
    face?.book(hosts);
    if (links !== undefined) face?.link(links.link);
  }

  view.poll({ path: "overview", on: [], every: 60, show: insecure.show });
  view.poll({
    path: "admin/hosts",
    on: ["host.added", "host.removed"],
    every: EVERY_S,
    apply: afterBook,
    show(book) {
      line.fail("book", null);
      hosts = book.length;
      show();
    },
    fail(error) {
      line.fail("book", error);
      hosts ??= 0;
      show();
    },
  });
  view.poll({
    path: "link/state",
    on: [],
    every: EVERY_S,
    rest: LINK_REST_S,
    show({ host, hub }) {
      line.fail("link", null);
      links = { isHub: hub !== null, link: host };
      show();
    },
    fail(error) {
      line.fail("link", error);
      links ??= { isHub: false, link: null };
      show();
    },
  });
}
