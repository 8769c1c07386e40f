/** Makes a server listen, or reports why it cannot: for all faces that open a socket. */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { ModuleRef } from "../contract/module-ref.ts";

/** A server of Node, of any protocol. */
interface Listening {
  readonly listen: (port: number, host: string, begun: () => void) => unknown;
  readonly once: (event: "error", listener: (error: Error) => void) => unknown;
  readonly off: (event: "error", listener: (error: Error) => void) => unknown;
}

/** Listens. @throws KernelErrorException T0_HTTP_ADDRESS_UNAVAILABLE. */
export async function listen(
  server: Listening,
  { host, port }: { readonly host: string; readonly port: number },
  source: ModuleRef,
): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => resolve(void server.off("error", reject)));
    });
  } catch (thrown) {
    const message = `cannot listen on ${host} port ${port}: ${(thrown as Error).message}`;
    raise(kernelError("T0_HTTP_ADDRESS_UNAVAILABLE", message, source, { detail: { host, port } }));
  }
}
