/** Splits the name of a tool or prompt of several servers, `files__read`, into the server's name and its own. */
export function splitName(called: string): readonly [server: string, name: string] {
  const at = called.indexOf("__");
  return at === -1 ? ["", called] : [called.slice(0, at), called.slice(at + 2)];
}
