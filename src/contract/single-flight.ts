/**
 * Reads what a single flight reads, from now on: an answer that is being made may have begun before the caller's own
 * change.
 */
export async function readAnew<T>(read: () => Promise<T>): Promise<T> {
  await read().catch(() => undefined);
  return read();
}

/** Shares one answer among all callers while it is being made; a later caller has it made anew. */
export function singleFlight<T>(make: () => Promise<T>): () => Promise<T> {
  let under: Promise<T> | null = null;
  return () => {
    under ??= make().finally(() => {
      under = null;
    });
    return under;
  };
}
