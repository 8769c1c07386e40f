/** Bytes that must be text. */

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes UTF-8, to the byte. @throws Error if the bytes are not UTF-8: none of them is replaced by another character.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Error("it is not UTF-8 text; save it as UTF-8");
  }
}
