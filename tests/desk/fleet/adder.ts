/** A process that adds hosts one by one: `adder.ts <folder> <name> <count>`. */
import { createAddressBook } from "../../../src/desk/fleet/address-book";
import { silentLog } from "../../../src/lib/log";
import { bookPaths, host } from "./support";

const [folder = "", name = "", count = "0"] = process.argv.slice(2);
const book = createAddressBook(bookPaths(folder), silentLog);
for (let nth = 0; nth < Number(count); nth++) await book.add(host(`${name}-${nth}`));
