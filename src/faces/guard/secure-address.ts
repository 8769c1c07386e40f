/** Addresses of OAuth: of https, or of this machine, where nobody between reads or changes what is fetched. */

/** Returns whether an address is one of https, or of this machine. */
export function isSecure(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}
