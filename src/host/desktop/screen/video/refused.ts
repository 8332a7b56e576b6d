/** A picture is not encoded, though nothing has failed: a smaller one may well be, or a later one, as the first of a stream. */
export class RefusedPicture extends Error {}
