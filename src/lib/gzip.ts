/** gzip beside the event loop: a large content holds up nobody, and takes a thread of the pool. */

const zlib = () => process.getBuiltinModule("node:zlib");

/** @param level 1, fast, to 9, small. */
export const gzipAside = (content: Uint8Array | string, level: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    zlib().gzip(content, { level }, (error, packed) => (error ? reject(error) : resolve(packed)));
  });

/** @param most bytes of what comes out. @throws where there are more, or it is no gzip. */
export const gunzipAside = (packed: Uint8Array, most: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    zlib().gunzip(packed, { maxOutputLength: most }, (error, content) =>
      error ? reject(error) : resolve(content),
    );
  });
