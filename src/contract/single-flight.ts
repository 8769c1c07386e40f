/** One answer for all who ask while it is under way; who asks later has it made anew. */
export function singleFlight<T>(make: () => Promise<T>): () => Promise<T> {
  let under: Promise<T> | null = null;
  return () => {
    under ??= make().finally(() => {
      under = null;
    });
    return under;
  };
}
