/** Files that are embedded as they are: `import path from "…" with { type: "file" }` gives the path to read one at. */
declare module "../../dashboard/*" {
  const path: string;
  export default path;
}

declare module "../../../dashboard/*" {
  const path: string;
  export default path;
}

declare module "../../explorer/*" {
  const path: string;
  export default path;
}

declare module "../../docs/*.md" {
  const path: string;
  export default path;
}

declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

declare module "@novnc/novnc" {
  const path: string;
  export default path;
}

declare module "uplot/dist/*" {
  const path: string;
  export default path;
}

/** Texts that are embedded: `import text from "…" with { type: "text" }`. */
declare module "./completions/*" {
  const text: string;
  export default text;
}

declare module "./templates/*" {
  const text: string;
  export default text;
}
