/** The version of the IP address that `text` is, 4 or 6; 0 for what is none. `node:net` and its streams are loaded with the first. */
export const isIP = (text: string): number => process.getBuiltinModule("node:net").isIP(text);
