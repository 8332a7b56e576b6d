/** A process that adds hosts one by one: `adder.ts <folder> <name> <count>`. */
import { join } from "node:path";
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { silentLog } from "../../../src/lib/log";
import { host } from "./support";

const [folder = "", name = "", count = "0"] = process.argv.slice(2);
const paths = { file: join(folder, "admin_hosts.json"), lock: join(folder, "run", "admin.lock") };
const book = createAddressBook(paths, silentLog);
for (let nth = 0; nth < Number(count); nth++) await book.add(host(`${name}-${nth}`));
