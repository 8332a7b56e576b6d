/** The pages that browsers show in tasks, and what is kept of what they ask for. */

const page = (title: string, body: string) =>
  new Response(
    `<!doctype html><html lang=en><meta charset=utf-8><title>${title}</title><body>${body}</body></html>`,
    {
      headers: { "content-type": "text/html; charset=utf-8" },
    },
  );

const ORDER =
  "<form method=post action=/save><p><label>Customer <input name=customer></label>" +
  "<p><label><input type=checkbox name=paid> Paid</label>" +
  "<p><label>Shipping <select name=ship><option value=post>Post<option value=courier>Courier<option value=pickup>Pickup</select></label>" +
  "<p><button>Save</button></form>";
const row = (name: string, nth: number) =>
  `<tr><td>${name}<td>${nth * 10}<td><form method=post action=/pay/${name.toLowerCase()}><button>Pay</button></form>`;

/** Answers a browser, and adds what it wants to `requests`. */
export async function answer(request: Request, requests: string[], isReversed: boolean): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/favicon.ico") return new Response(null, { status: 404 });
  const body = request.method === "POST" ? await request.text() : "";
  requests.push(`${request.method} ${pathname}${body ? ` ${body}` : ""}`);
  if (request.method === "POST") return page("Saved", "<h1>Saved</h1>");
  const ordered = <T>(list: readonly T[]) => (isReversed ? list.toReversed() : [...list]);
  const pages: Readonly<Record<string, () => Response>> = {
    "/": () => page("Order", ORDER),
    "/many": () =>
      page(
        "Many",
        ordered(Array.from({ length: 300 }, (_, nth) => nth + 1))
          .map((nth) => `<form method=post action=/save/${nth}><button>Save ${nth}</button></form>`)
          .join(""),
      ),
    // 1,700 elements, as the bench of elements wants them.
    "/grid": () => {
      const rows = Array.from(
        { length: 425 },
        (_, nth) => `<div><label>Field ${nth} <input></label><button>Save ${nth}</button></div>`,
      );
      return page("Grid", rows.join(""));
    },
    "/start": () => page("Start", "<a href=/orders>Orders</a> <a href=/customers>Customers</a>"),
    "/orders": () => page("Orders", "<h1>Orders</h1><a href=/start>Start</a>"),
    "/watched": () =>
      page(
        "Watched",
        "<h1>Watched</h1><script>addEventListener('pagehide',()=>navigator.sendBeacon('/closed'))</script>",
      ),
    "/table": () => {
      const rows = ordered(["Initech", "ACME", "Beta"]).map((name, nth) => row(name, nth + 1));
      return page("Invoices", `<table><tr><th>Name<th>Amount<th>Action${rows.join("")}</table>`);
    },
    "/confirm": () =>
      page(
        "Confirm",
        `<button onclick="if(confirm('Delete order 12?'))fetch('/deleted',{method:'POST'})">Delete</button>`,
      ),
    "/two": () => {
      const form = (name: string) =>
        `<form method=post action=/${name.toLowerCase()} aria-label="${name}"><fieldset><legend>${name}</legend><label>Street <input name=street></label><button>Save</button></fieldset></form>`;
      return page("Addresses", ordered(["Shipping", "Billing"]).map(form).join(""));
    },
    "/upload": () =>
      page(
        "Upload",
        "<form method=post action=/file enctype=multipart/form-data><label>Document <input type=file name=document></label><button>Send</button></form>",
      ),
  };
  return pages[pathname]?.() ?? page("Nothing", "<h1>Nothing</h1>");
}
