/**
 * Messages of the server for who types commands, in the words of the pages: what a page offers stands in place of a flag.
 */

/** What a message says, and what a page says in its place. @type {ReadonlyArray<readonly [words: RegExp, offered: string]>} */
const OFFERED = [
  [/`svc admin poll --ask-again` asks/g, "Poll on the page Hosts asks"],
  [
    /--skip leaves such hosts out, --queue waits for those that are off/g,
    "“Leave out hosts that cannot be upgraded” goes on without them, “Hosts that are off get it when they are back” waits",
  ],
  [/`svc plan apply [^`]*` applies it/g, "Apply… on its page applies it"],
  [/`svc plan apply [^`]*` waits for it/g, "its page shows how far it is"],
  [/`svc plan resume [^`]*` goes on with it/g, "Resume on its page goes on with it"],
  [/`svc plan cancel [^`]*` ends it/g, "Cancel… there ends it"],
];

/** A message in the words of the pages. @param {string} text */
export const onPage = (text) =>
  OFFERED.reduce((said, [words, offered]) => said.replace(words, offered), text);

/** An error in the words of the pages, to be thrown. @param {unknown} thrown @returns {unknown} */
export const errorOnPage = (thrown) =>
  thrown instanceof Error ? new Error(onPage(thrown.message), { cause: thrown }) : thrown;
