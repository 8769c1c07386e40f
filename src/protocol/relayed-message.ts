/**
 * Messages of JSON-RPC 2.0 as a relay writes them: under ids that another party chose, with members that it does not
 * judge.
 *
 * Never: checks a message; envelope.ts does for the kernel's own.
 */
type Id = string | number;

const version = "2.0" as const;

/** Returns the request of this id. */
export const requestWith = <M extends { readonly method: string }>(id: Id, message: M) => ({
  jsonrpc: version,
  id,
  ...message,
});

/** Returns the notification of this method. */
export const notificationWith = <P extends object>(method: string, params: P) => ({ jsonrpc: version, method, params });

/** Returns the answer to the request of this id. */
export const resultWith = <R extends object>(id: Id, result: R) => ({ jsonrpc: version, id, result });

/** Returns the refusal of the request of this id; null where the request could not be read. */
export const errorWith = <I extends Id | null, E extends object>(id: I, error: E) => ({ jsonrpc: version, id, error });
