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
